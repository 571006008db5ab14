package doctor

// clusterYAML is a cluster with Loadline, and an application of two services: web, which
// Loadline scales on all axes, and cart, which KEDA scales.
const clusterYAML = `
apiVersion: v1
kind: Node
metadata: {name: node-1}
status: {nodeInfo: {kubeletVersion: v1.36.0, operatingSystem: linux}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: loadline, namespace: loadline-system}
spec:
  replicas: 2
  selector: {matchLabels: {app: loadline}}
  template:
    metadata: {labels: {app: loadline}}
    spec:
      serviceAccountName: loadline
      volumes: [{name: models, persistentVolumeClaim: {claimName: models}}]
status: {readyReplicas: 2}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: loadline.dev, namespace: loadline-system}
spec:
  holderIdentity: loadline-1
  leaseDurationSeconds: 15
  acquireTime: "2026-03-01T09:00:00.000000Z"
  renewTime: "2026-03-01T11:59:58.000000Z"
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: models, namespace: loadline-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: loadline-pod-size}
spec: {paramKind: {apiVersion: loadline.dev/v1alpha1, kind: LoadLine}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: loadline-pod-size}
spec: {policyName: loadline-pod-size}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scaledobjects.keda.sh, labels: {app.kubernetes.io/version: 2.21.0}}
spec:
  versions:
    - name: v1alpha1
      schema:
        openAPIV3Schema:
          properties:
            spec:
              properties:
                fallback: {properties: {behavior: {type: string}}}
                advanced:
                  properties:
                    horizontalPodAutoscalerConfig: {properties: {behavior: {properties: {scaleUp: {properties: {tolerance: {}}}}}}}
---
apiVersion: v1
kind: Service
metadata: {name: prometheus, namespace: monitoring}
spec: {ports: [{port: 9090}]}
---
apiVersion: loadline.dev/v1alpha1
kind: LoadLine
metadata: {name: main, namespace: shop, generation: 3, creationTimestamp: "2026-02-01T00:00:00Z"}
spec:
  mode: Act
  interval: 15s
  objectives: [{kind: "*", percentile: 99, latency: 250ms}]
  prometheus: {url: "http://prometheus.monitoring:9090", timeout: 10s}
  policy: {baseline: hpa}
  fallback: hpa
  services:
    - name: web
      targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
      axes: [Horizontal, VerticalRequests, VerticalLimits]
      bounds: {replicas: {min: 1, max: 20}, cpu: {min: 100m, max: "2"}}
      movedBy: Scale
      resize: InPlaceOrRecreate
    - name: cart
      targetRef: {apiVersion: apps/v1, kind: Deployment, name: cart}
      axes: [Horizontal]
      bounds: {replicas: {min: 1, max: 20}}
      movedBy: KEDA
      resize: InPlaceOnly
status:
  observedGeneration: 3
  policy: hpa
  lastDecisionTime: "2026-03-01T11:59:50Z"
  conditions:
    - {type: Ready, status: "True", reason: Deciding, message: "", lastTransitionTime: "2026-03-01T11:00:00Z"}
    - {type: Active, status: "True", reason: Acting, message: "", lastTransitionTime: "2026-03-01T11:00:00Z"}
    - {type: Fallback, status: "False", reason: Following, message: "", lastTransitionTime: "2026-03-01T11:00:00Z"}
    - {type: Paused, status: "False", reason: NotPaused, message: "", lastTransitionTime: "2026-03-01T11:00:00Z"}
    - {type: Conflict, status: "False", reason: NoConflict, message: "", lastTransitionTime: "2026-03-01T11:00:00Z"}
    - {type: Stale, status: "False", reason: Fresh, message: "", lastTransitionTime: "2026-03-01T11:00:00Z"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, resources: {requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: "1", memory: 128Mi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
spec:
  containers: [{name: app, resources: {requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: "1", memory: 128Mi}}}]
status: {phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-03-01T11:00:00Z"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}}
status: {expectedPods: 1, disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 0}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec:
      containers: [{name: app, resources: {requests: {cpu: 500m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop, labels: {app: cart}}
spec:
  containers: [{name: app, resources: {requests: {cpu: 500m}}}]
status: {phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-03-01T11:00:00Z"}]}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: cart, namespace: shop}
spec:
  scaleTargetRef: {name: cart}
  minReplicaCount: 1
  maxReplicaCount: 20
  fallback: {failureThreshold: 4, replicas: 6, behavior: currentReplicasIfHigher}
  advanced:
    horizontalPodAutoscalerConfig: {behavior: {scaleUp: {tolerance: 0}, scaleDown: {tolerance: 0}}}
  triggers:
    - type: external
      metadata: {scalerAddress: "loadline-keda.loadline-system.svc:9092", loadline: shop/main, service: cart}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: keda-hpa-cart, namespace: shop, labels: {scaledobject.keda.sh/name: cart}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: cart}
  maxReplicas: 20
  behavior: {scaleUp: {tolerance: "0"}, scaleDown: {tolerance: "0"}}`
