"""The half that will run inside a training job. Nothing is implemented yet.

It is meant to record collectives on any back end into a mapped file that outlives the process, and to write dumps
that both torch's analyzer and frtui read. Until it exists, switch on torch's own recorder; frtui reads its files.
"""
