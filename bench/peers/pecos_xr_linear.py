"""XR-Linear of PECOS on a PECOS folder; run with the Python that has libpecos. Prints seconds as JSON.

python bench/peers/pecos_xr_linear.py FOLDER THREADS BEAM K OUTPUT.npz
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy import sparse


def main() -> None:
    folder, output = Path(sys.argv[1]), sys.argv[5]
    threads, beam, k = (int(argument) for argument in sys.argv[2:5])
    X, Y, queries = (
        sparse.load_npz(folder / name).tocsr().astype(np.float32)
        for name in ("X.trn.npz", "Y.trn.npz", "X.tst.npz")
    )
    start = time.perf_counter()
    vectors = LabelEmbeddingFactory.create(Y, X, method="pifa")
    clusters = Indexer.gen(vectors, indexer_type="hierarchicalkmeans", threads=threads)
    model = XLinearModel.train(X, Y, C=clusters, threads=threads)
    trained = time.perf_counter()
    predictions = model.predict(queries, beam_size=beam, only_topk=k, threads=threads)
    done = time.perf_counter()
    sparse.save_npz(output, sparse.csr_matrix(predictions))
    print(json.dumps({"train": trained - start, "predict": done - trained}))


if __name__ == "__main__":
    main()
