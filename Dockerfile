# docker build -t attention-course .
# docker run --rm -p 127.0.0.1:8888:8888 -v attention:/course attention-course     then open the link that it prints
#
# Answers are kept in the volume `attention`. JupyterLab runs as a user without rights. The stage `base` is what the
# devcontainer starts from: Codespaces and VS Code.
FROM python:3.12-slim AS base
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 --shell /bin/bash learner \
    && install --directory --owner=learner --group=learner /course
USER learner
WORKDIR /course
# What is fetched once, the files of published models, is kept in the volume, too.
ENV XDG_CACHE_HOME=/course/.cache

FROM base
# The packages, in a layer of their own: they are installed anew only where their versions change.
COPY --chown=learner requirements.txt constraints.txt ./
COPY --chown=learner tools/setup/setup_environment.py tools/setup/
RUN PIP_NO_CACHE_DIR=1 python tools/setup/setup_environment.py
COPY --chown=learner . .
# .git comes along, for `make update`, and a token in its settings would, too: then there is no image.
RUN if grep -Eisq 'extraheader|https?://[^/]*@' .git/config; then \
    echo "Stop: .git/config holds a token or a password. Build the image from a fresh clone." >&2; exit 1; fi
EXPOSE 8888
CMD ["make", "lab", "LAB_OPTIONS=--ip=0.0.0.0 --no-browser"]
