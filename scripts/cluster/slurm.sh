#!/bin/bash
# One command of posenc as a SLURM job that is saved and goes on: sbatch scripts/cluster/slurm.sh ablate configs/demo.py --directory runs/demo
# (posenc ablate --executor slurm makes an array of jobs, with submitit.) Two minutes before the time limit, and when the job is
# preempted, posenc is asked to end; it saves, ends with 143, and the job is queued again. `scancel` is final.
#SBATCH --job-name=posenc
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -u
srun posenc "$@"
code=$?
if [ "$code" = 143 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
