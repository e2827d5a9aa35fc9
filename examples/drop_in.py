"""In place of BernoulliRBM: the import, the name, and one parameter less."""

from digits_data import shifted_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

# from sklearn.neural_network import BernoulliRBM
from vrbm import VRBM


def main(shifts=True, max_hidden=None, n_iter=10):
    """The accuracy on test rows."""
    X, X_test, y, y_test = shifted_digits(shifts)
    # model = make_pipeline(BernoulliRBM(n_components=100, n_iter=10), LogisticRegression())
    model = make_pipeline(
        VRBM(max_hidden, n_iter=n_iter, random_state=0), LogisticRegression(max_iter=1000)
    )
    accuracy = model.fit(X, y).score(X_test, y_test)
    print(f"accuracy {accuracy:.3f} with {model[0].n_hidden_} units")
    return accuracy


if __name__ == "__main__":
    main()
