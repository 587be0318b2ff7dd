"""Evil twins: the reference memory with one fault each, and the rules that must catch it.

A suite that nobody breaks proves nothing.  For every rule there is at least one twin, and the tests of this
package run each twin against its suite: exactly the rules that it names may fail.
"""

from __future__ import annotations
