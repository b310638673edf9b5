"""The Models tab in its states."""

from app.tabs.models.tab import ModelsTab
from core.runs.catalog import RunSummary
from core.tasks.models.look_at_export import ExportOffer
from tests.app.showing import opened, shown

RUNS = (
    RunSummary(
        "meadow", "starter", 600, 600, 0.3, 0.3624, 2_047_424, 84_200_000, 1e9, (400, 600), 600, 600, True
    ),
    RunSummary(
        "guest",
        parameters=2_008_128,
        bytes=8_200_000,
        changed=2e9,
        last_step=0,
        state="taken",
        tags=("draft",),
    ),
    RunSummary("broken", bytes=812, problem="its run.toml is damaged", state="damaged"),
)
OFFERS = (
    ExportOffer("hf", "Hugging Face folder", "meadow-hf", {"f32": ()}, {"f32": 8_189_696}),
    ExportOffer(
        "gguf",
        "GGUF file for llama.cpp",
        "meadow-gguf",
        {"f32": (), "q8_0": ("Q8_0 needs widths that 32 divides",)},
        {"f32": 8_189_696, "q8_0": 2_175_388},
    ),
    ExportOffer(
        "sheep", "one file for another SheepOp Studio", "meadow.sheep", {"f32": ()}, {"f32": 8_189_696}
    ),
)


def models_empty():
    return shown(ModelsTab)


def models():
    tab = models_empty()
    tab.show_runs(RUNS)
    tab.view.select(["meadow"])
    return tab


def models_exporting():
    tab = models()
    return opened(tab.ask_for_export("meadow", OFFERS), tab)
