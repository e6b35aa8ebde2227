"""The part of the story that tells of lists, rows, previews and several stores."""

from __future__ import annotations

from tests.surfaces.steps import NOWHERE, Step

TRAIN = {"content": "The night train stops in Vevey", "type": "fact"}

RETRIEVAL: tuple[Step, ...] = (
    Step("memory_write", {**TRAIN, "title": "Trains", "metadata": {"line": 9}}, name="train"),
    Step("memory_list", {}),
    Step("memory_list", {"type_filter": "fact,decision", "counts": True, "limit": 500, "order": "oldest"}),
    Step(
        "memory_list", {"since": "2020-01-01", "until": "2020-01-02", "min_importance": 0.1, "pinned": False}
    ),
    Step("memory_list", {"trust_state": "candidate", "as_of": "2020-01-01", "known_at": "2020-01-01"}),
    Step("memory_list", {"cursor": "elsewhere"}, "invalid_argument"),
    Step("memory_list", {"type_filter": "fact,opinion"}, "invalid_argument"),
    Step("memory_search_scored", {"query": "night train", "k": 1}),
    Step("memory_search_scored", {"k": 2}),
    Step("memory_search_scored", {"query": "night train", "trust_state": "rejected"}, "invalid_argument"),
    Step("memory_suggest", {"query": "night train in Vevey", "explain_id": "$train"}),
    Step("memory_suggest", {"query": "night train", "k": 1, "as_of": "2020-01-01"}),
    Step("memory_suggest", {"query": "night train", "explain_id": NOWHERE}, "not_found"),
    Step("memory_search_multi_db", {"query": "night train", "k": 1}),
    Step("memory_search_multi_db", {"query": "night train", "stores": "main,harbour"}, "unknown_store"),
    Step("memory_get", {"id": "$train", "store": "harbour"}, "unknown_store"),
    Step("memory_get", {"id": "$train", "store": "main"}),
    Step("m3_index", {"domain": "admin"}),
    Step("m3_index", {"domain": "nowhere"}, "invalid_argument"),
    Step("m3_help_capabilities", {"query": "night"}),
    Step("m3_help_capabilities", {"domain": "admin"}),
    Step("m3_help_capabilities", {"domain": "nowhere"}, "invalid_argument"),
)
