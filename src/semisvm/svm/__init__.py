"""The support vector classifiers: one file for each published method.

    supervised      SupervisedSVC: the labeled rows alone, with costs
    tuned           SVCCV: the same, C and gamma chosen by cross-validation
    transductive    TransductiveSVC: label switching, or a ramp loss
    progressive     ProgressiveSVC: the most confident pair first (PTSVM)
    label_mean      LabelMeanSVC: the means of the unlabeled classes (CS4VM, meanS3VM)
    laplacian       LaplacianSVC: smooth along a graph of all rows
    cluster         ClusterSVC: clusters of all rows take the labels of their members
    self_training   SelfTrainingSVC: trained again on its own predictions
    mixture         MixtureClassifier: Gaussian components, by EM
    psvm            PaperPreferenceSVC: a precision or recall, with soft labels (PSVM)

To add a method, write a subclass of `BaseSVC` with one method of its own; see `_base`.
"""

from .cluster import ClusterSVC
from .label_mean import LabelMeanSVC
from .laplacian import LaplacianSVC
from .mixture import MixtureClassifier
from .progressive import ProgressiveSVC
from .psvm import PaperPreferenceSVC
from .self_training import SelfTrainingSVC
from .supervised import SupervisedSVC
from .transductive import TransductiveSVC
from .tuned import SVCCV

__all__ = [
    "SVCCV",
    "ClusterSVC",
    "LabelMeanSVC",
    "LaplacianSVC",
    "MixtureClassifier",
    "PaperPreferenceSVC",
    "ProgressiveSVC",
    "SelfTrainingSVC",
    "SupervisedSVC",
    "TransductiveSVC",
]
