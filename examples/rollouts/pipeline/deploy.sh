#!/bin/sh
# Roll a new version of an application out step by step, and go back if it does not get there.
#   VERSION=2 ./deploy.sh shop examples/rollouts/manifests
# Needs kubectl and hanse, and $KUBECONFIG with the federation as its current context.
set -eu

app=$1
folder=$2
version=${VERSION:?say which version this is}
timeout=${TIMEOUT:-10m}

hanse rollout pack "$folder" --name "$app-$version" | kubectl apply -f -
kubectl patch applications.shipper.booking.com "$app" --type=merge \
  -p "{\"spec\":{\"template\":{\"source\":{\"manifests\":{\"location\":\"configmap://$app-$version\"}}}}}"

# 0: the step is achieved. 3: it does not get there without a person. 4: not in time.
step() {
  code=0
  "$@" --timeout "$timeout" || code=$?
  case $code in
    0) ;;
    3 | 4)
      echo "rollout of $app stopped with code $code; going back" >&2
      hanse rollout get "$app" >&2 || true
      # Whatever was aborted already needs no second time.
      hanse rollout abort "$app" --yes >&2 || true
      exit "$code"
      ;;
    *) exit "$code" ;;
  esac
}

step hanse rollout status "$app"
# Here belongs whatever looks at the one pod of the new release before clients do.
step hanse rollout promote "$app" --to half --wait
step hanse rollout promote "$app" --full --wait
step hanse rollout status "$app" --complete
