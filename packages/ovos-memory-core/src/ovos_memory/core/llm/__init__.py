"""Language models for the memories that need one: a chat client, and parsing of what small models really say.

Imported only where a model is used: no plugin pays for it while OPM loads the group.

===========  =======================================================================================
module       holds
===========  =======================================================================================
``scan``     values out of a text that was meant to be JSON
``reply``    a reply without thinking, fences and chatter
``deadline`` a call that is over when its time is over
``breaker``  pauses after failures
``http``     one request with a hard deadline
``server``   the client of any OpenAI-compatible server
``engine``   the client of a chat plugin that runs in this process
``settings`` the keys that name the model
``client``   settings to client, one per process
``workplace``  what the memories on one store share
``memory``   the base of the memories that a model works for in the background
===========  =======================================================================================
"""
