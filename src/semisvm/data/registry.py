"""The named sets, as a table: what each is, which file holds it, and what its labels mean.

    positive    the labels that make class 1 of a binary task; () keeps the file's own classes
    unlabeled   the label that the file gives to rows without one
    scale       what the features are divided by

Files are looked for below the data folder, at `file`. Positive classes are those of the papers' tasks,
which for the sets of CS4VM is not always the class the file calls +1.
"""

from __future__ import annotations

from dataclasses import dataclass

LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
SVMLIGHT = "the text classification examples of SVMlight, https://www.cs.cornell.edu/people/tj/svm_light"
LAMDA = "the LAMDA group's binary UCI sets, https://github.com/CJJ203/matlab-binary-datasets"
KEEL = "the KEEL repository (UCI data), https://sci2s.ugr.es/keel/datasets.php"
SKLEARN = "scikit-learn, sklearn.datasets"


@dataclass(frozen=True)
class Entry:
    """A named set: one line of the table below."""

    name: str
    file: str  # below the data folder; "" for a set that comes with scikit-learn
    rows: int
    features: int
    about: str
    origin: str
    positive: tuple[int, ...] = ()
    unlabeled: int | None = None
    scale: float = 1.0
    target: str | None = None  # the column or array of the labels; None in LIBSVM text, which needs no name
    role: str | None = None  # the column that says labeled, unlabeled or test
    bundled: str = ""  # the function of sklearn.datasets


def _bundled(name: str, function: str, rows: int, features: int, about: str) -> Entry:
    return Entry(name, "", rows, features, about, SKLEARN, bundled=function)


def _cs4vm(name: str, rows: int, features: int, about: str, origin: str = LAMDA, positive: int | None = 1) -> Entry:
    """Return a set of the CS4VM paper; positive=None for a multi-class original."""
    classes = () if positive is None else (positive,)
    return Entry(name, f"cs4vm/{name}.csv.xz", rows, features, about, origin, positive=classes, target="label")


def _reuters(name: str, file: str, rows: int, about: str, unlabeled: int | None = None) -> Entry:
    return Entry(name, f"ptsvm/{file}.dat.bz2", rows, 9947, about, SVMLIGHT, positive=(1,), unlabeled=unlabeled)


ENTRIES = (
    _bundled("iris", "load_iris", 150, 4, "Iris, 3 species"),
    _bundled("wdbc", "load_breast_cancer", 569, 30, "Wisconsin diagnostic breast cancer, 1 is benign"),
    _bundled("digits", "load_digits", 1797, 64, "Optical digits, test part, 10 classes"),
    _bundled("wine", "load_wine", 178, 13, "Wine, 3 cultivars"),
    # PSVM
    Entry(
        "adult",
        "psvm/a9a.libsvm.bz2",
        32561,
        123,
        "Adult (a9a), 1 is an income above 50K",
        f"a9a of {LIBSVM_PAGE}/binary.html",
        positive=(1,),
    ),
    Entry(
        "ijcnn1",
        "psvm/ijcnn1.libsvm.bz2",
        49990,
        22,
        "IJCNN 2001 challenge, 1 is the rare class",
        f"ijcnn1 of {LIBSVM_PAGE}/binary.html",
        positive=(1,),
    ),
    Entry(
        "mnist",
        "psvm/mnist.npz",
        60000,
        780,
        "MNIST training digits, pixels in [0, 1], 1 is odd",
        f"mnist of {LIBSVM_PAGE}/multiclass.html",
        positive=(1, 3, 5, 7, 9),
        scale=255.0,
        target="y",
    ),
    Entry(
        "protein",
        "psvm/protein.libsvm.bz2",
        17766,
        357,
        "Protein secondary structure, 1 is strand; rows whose label is lost are unlabeled",
        f"protein of {LIBSVM_PAGE}/multiclass.html",
        positive=(1,),
        unlabeled=-1,
    ),
    # PTSVM
    _reuters("reuters-train", "train", 2000, "Reuters, 1 is about corporate acquisitions"),
    _reuters("reuters-test", "test", 600, "Reuters, the 600 test documents"),
    _reuters(
        "reuters-transduction",
        "train_transduction",
        610,
        "10 labeled documents, then the test's",
        unlabeled=0,
    ),
    _reuters("reuters-induction", "train_induction", 10, "the 10 labeled documents"),
    Entry(
        "tutorial",
        "ptsvm/tutorial.csv",
        126,
        2,
        "Two dimensions: 6 labeled, 20 unlabeled, 100 test rows",
        "generated in the spirit of the PTSVM paper's Tutorial, which was never published",
        positive=(1,),
        target="y",
        role="role",
    ),
    # CS4VM
    _cs4vm("house-votes", 435, 16, "Congressional votes, 1 is democrat"),
    _cs4vm("clean1", 476, 166, "Musk, version 1, 1 is musk"),
    _cs4vm("australian", 690, 42, "Australian credit, 1 is the class of 383 rows"),
    _cs4vm("german", 1000, 59, "German credit, 1 is bad"),
    _cs4vm("krvskp", 3196, 36, "Chess, king and rook against king and pawn, 1 is no win"),
    _cs4vm("heart-statlog", 270, 13, "Statlog heart, 1 is disease"),
    _cs4vm("diabetes", 768, 8, "Pima diabetes, 1 is tested positive"),
    _cs4vm("ionosphere", 351, 33, "Ionosphere, 1 is bad", positive=-1),
    _cs4vm("liver-disorders", 345, 6, "BUPA liver disorders, 1 is the class of 145 rows", positive=-1),
    _cs4vm("echocardiogram", 132, 8, "Echocardiogram, 1 is the class of 24 rows"),
    _cs4vm("spectf", 349, 44, "SPECTF heart, 1 is the class of 95 rows", positive=-1),
    _cs4vm("heart", 270, 9, "Heart, 9 transformed features, 1 is the class of 120 rows"),
    _cs4vm("house", 232, 16, "Congressional votes without missing ones, 1 is republican"),
    _cs4vm("isolet", 600, 51, "Isolet, two letters, 51 transformed features"),
    _cs4vm("optdigits", 1143, 64, "Optical digits, 1 is a one, 0 a three", KEEL),
    _cs4vm("sat", 3041, 36, "Satimage, 1 is class 1, 0 class 7", KEEL),
    _cs4vm("vehicle", 435, 18, "Vehicle, 1 is bus, 0 saab", KEEL),
    _cs4vm("optdigits_full", 5620, 64, "Optical digits, 10 classes", KEEL, None),
    _cs4vm("sat_full", 6435, 36, "Satimage, 6 classes", KEEL, None),
    _cs4vm("vehicle_full", 846, 18, "Vehicle, 4 classes", KEEL, None),
    _cs4vm("texture_full", 5500, 40, "Texture, 11 classes", KEEL, None),
)

REGISTRY = {entry.name: entry for entry in ENTRIES}
