#!/usr/bin/env python3
"""Write a tone of 440 Hz beside this script in formats that are read with libsndfile. Needs numpy and soundfile."""
import pathlib

import numpy
import soundfile

HERE = pathlib.Path(__file__).parent
RATE, FRAMES = 16000, 8000
tone = 0.5 * numpy.sin(2 * numpy.pi * 440 * numpy.arange(FRAMES) / RATE)
soundfile.write(HERE / "tone.flac", tone, RATE)
soundfile.write(HERE / "tone.ogg", tone, RATE)
soundfile.write(HERE / "tone.opus", tone, RATE, format="OGG", subtype="OPUS")
soundfile.write(HERE / "tone.mp3", tone, RATE, compression_level=0.9)
# ADPCM consists of blocks of 1012 frames; this file has eight full blocks.
longer = 0.5 * numpy.sin(2 * numpy.pi * 440 * numpy.arange(8 * 1012) / RATE)
soundfile.write(HERE / "tone.wav", longer, RATE, subtype="MS_ADPCM")
