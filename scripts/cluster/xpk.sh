#!/bin/sh
# An ablation on a TPU of GKE, as a JobSet that XPK makes: scripts/cluster/xpk.sh IMAGE STORAGE [options of xpk workload create]
# IMAGE: of the Dockerfile beside this file, --target tpu. STORAGE: a Filestore that `xpk storage attach` has mounted at
# /data (runs lock files, and buckets have no locks). CLUSTER, WORKLOAD and TPU name others than those below.
# jobset.yaml beside this file is what XPK 1.16.0 makes of it (--dry-run --skip-validation --output-manifest-file FILE).
set -eu
usage="scripts/cluster/xpk.sh IMAGE STORAGE"
image=${1:?which image? $usage} storage=${2:?which storage? $usage}
shift 2
# A pod that is taken away has two minutes to save in; posenc ends with 143, and the JobSet starts it again.
exec xpk workload create \
  --cluster "${CLUSTER:-lab}" --workload "${WORKLOAD:-posenc}" --tpu-type "${TPU:-v6e-4}" --spot \
  --docker-image "$image" --storage "$storage" --max-restarts 20 --termination-grace-period-seconds 120 \
  --command "exec posenc ablate configs/accelerator.py --directory /data/accelerator" "$@"
