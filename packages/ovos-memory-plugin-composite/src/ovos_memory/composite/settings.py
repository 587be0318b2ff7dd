"""Settings of the composite."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler

from ovos_memory.core.fusion import FusionMode
from ovos_memory.core.settings import Count, NonNegative, PositiveCount, RecallSettings, Settings


class MemberSettings(Settings):
    """One member."""

    module: str = Field(min_length=1, description="Entry-point name of the memory plugin.")
    name: str | None = Field(
        None, min_length=1, description="Its name in logs and counts; null: the module's."
    )
    weight: NonNegative = Field(1.0, description="Its weight in fusion `rrf`, `weighted` and `convex`.")
    exponent: Annotated[NonNegative, Field(gt=0)] = Field(
        1.0, description="Power of its scores in fusion `convex`; above 1 its best hits stand out more."
    )
    config: dict[str, Any] = Field(default_factory=dict, description="Its own block; it sees nothing else.")


class _NameOrObject:
    """Tells the JSON Schema that a member may be given by its name alone."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "string"}]}


def _from_name(value: Any) -> Any:
    return {"module": value} if isinstance(value, str) else value


MemberEntry = Annotated[MemberSettings, BeforeValidator(_from_name), _NameOrObject]


class CompositeSettings(RecallSettings):
    """What the composite takes; `members` are dicts or plain entry-point names."""

    members: list[MemberEntry] = Field(
        default_factory=list,
        description="Memory plugins, in order: {module, name, weight, config} or just the name.",
    )
    primary: str | None = Field(
        None, description="Member (its name or module) whose history is used; null: the first that loaded."
    )
    fusion: FusionMode = Field("rrf", description="How the members' hits become one list.")
    rrf_k: NonNegative = Field(60, description="Rank offset of fusion `rrf`.")
    date_weight: NonNegative = Field(
        0.0,
        description="Weight of hits of a time that the question names, in fusion `rrf`, `weighted` and `convex`;"
        " 0: their time does not count.",
    )
    max_num_results: PositiveCount = Field(5, description="Size of the fused list (top-k).")
    member_fetch_k: PositiveCount | None = Field(
        None, description="Hits asked of each member; null: twice `max_num_results`."
    )
    dedup: bool = Field(True, description="One hit per text in fusion `merge` and `interleave`.")
    member_timeout_s: Annotated[NonNegative, Field(gt=0)] = Field(
        5.0, description="Seconds that a member may take; a later answer is left out for the turn."
    )
    max_history: Count = Field(
        0, description="Messages taken of the primary's history; 0: all that it returns."
    )

    def with_one_top_k(self) -> CompositeSettings:
        """Return a copy whose `max_num_results` and `retrieval.max_num_results` agree; the former rules."""
        is_below = "max_num_results" in self.retrieval.model_fields_set
        top_k = self.max_num_results
        if is_below and "max_num_results" not in self.model_fields_set:
            top_k = self.retrieval.max_num_results
        retrieval = self.retrieval.model_copy(update={"max_num_results": top_k})
        return self.model_copy(update={"max_num_results": top_k, "retrieval": retrieval})
