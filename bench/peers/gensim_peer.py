#!/usr/bin/env python3
"""Train gensim's skip-gram with the settings of bench/compare_vectors.py. Prints one JSON object; writes the vectors
to OUTPUT.

    gensim_peer.py CORPUS EPOCHS SEED THREADS [OUTPUT]
"""
import json
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers are gensim's threads; further threads of
                                                    # BLAS slow them down
from gensim.models import Word2Vec  # noqa: E402

corpus, epochs, seed, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
model = Word2Vec(vector_size=100, window=5, min_count=5, workers=threads, sg=1, negative=5, hs=0, sample=1e-3,
                 epochs=epochs, seed=seed)
model.build_vocab(corpus_file=corpus)
wall, cpu = time.time(), time.process_time()
model.train(corpus_file=corpus, total_words=model.corpus_total_words, total_examples=model.corpus_count, epochs=epochs)
wall, cpu = time.time() - wall, time.process_time() - cpu
words = epochs * model.corpus_total_words
print(json.dumps(dict(words_per_second=words / wall, words_per_cpu_second=words / cpu, words=len(model.wv))))
if len(sys.argv) > 5:
    model.wv.save_word2vec_format(sys.argv[5], binary=True)
