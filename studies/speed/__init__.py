"""How fast is it?

training   an RBF SVM beside LIBSVM and oneDAL, on 1 to 16 cores
linear     a linear SVM beside LIBLINEAR at equal objective
tuning     training and tuning in one call, beside GridSearchCV, scikit-learn-intelex, TorchKM
gpu        the solver on a GPU, beside the CPU
start      the start of the command, and what an import costs
"""
