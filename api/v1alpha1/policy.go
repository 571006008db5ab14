package v1alpha1

// PreviousAnnotation keeps the policy and the mode of a LoadLine before a promotion, for a rollback.
const PreviousAnnotation = "loadline.dev/previous"

// Policy is a trained model or a baseline.
//
// +kubebuilder:validation:XValidation:rule="has(self.model) != has(self.baseline)",messageExpression="has(self.model) ? 'model and baseline are both given: keep one; the rule that takes over is spec.fallback' : 'give either model, a policy from the registry, or baseline, such as \"hpa:target=60\"'"
type Policy struct {
	// A policy that was trained and promoted.
	// +optional
	Model *Model `json:"model,omitempty"`

	// A baseline by its name, with settings if any: "hpa", "hpa:target=60",
	// "kpa:target=1".
	// +optional
	Baseline Baseline `json:"baseline,omitempty"`
}

// Baseline is a policy that needs no training.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="self.split(':', 2)[0] in ['static', 'hpa', 'keda', 'phpa', 'sre', 'kpa', 'hybrid-histogram', 'vpa', 'hpa+vpa', 'ursa', 'autothrottle', 'planner', 'by-service']",messageExpression="'no baseline is called ' + self.split(':', 2)[0] + ': use static, hpa, keda, phpa, sre, kpa, hybrid-histogram, vpa, hpa+vpa, ursa, autothrottle, planner or by-service'"
// +kubebuilder:validation:XValidation:rule="!self.contains(':') || self.matches('^[^:]+:[a-z][a-z0-9.-]*=[^,]+(,[a-z][a-z0-9.-]*=[^,]+)*$')",message="settings are written NAME:KEY=VALUE,KEY=VALUE, such as \"hpa:target=60,down-window=120s\""
type Baseline string

// Model is a policy from the registry.
//
// +kubebuilder:validation:XValidation:rule="(has(self.folder) ? 1 : 0) + (has(self.configMap) ? 1 : 0) + (has(self.claim) ? 1 : 0) == 1",message="give exactly one of folder, configMap and claim: where the model is"
// +kubebuilder:validation:XValidation:rule="!has(self.configMap) || !(has(self.application) || has(self.version))",message="a ConfigMap holds one model: application and version are for a registry in a folder or a claim"
type Model struct {
	// A registry written by "loadline promote": a folder below the controller's
	// folder of models (--models); "." is that folder itself.
	// +optional
	Folder RelativePath `json:"folder,omitempty"`

	// A model file in a ConfigMap of this namespace, under binaryData.
	// +optional
	ConfigMap *ModelConfigMap `json:"configMap,omitempty"`

	// A registry on a volume that is mounted in the controller's pods.
	// +optional
	Claim *ModelClaim `json:"claim,omitempty"`

	// The application's name in the registry. Left out, it is the name of this
	// resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Application string `json:"application,omitempty"`

	// The version. Left out, the current version is used, and promotions and
	// rollbacks take effect.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Version *int32 `json:"version,omitempty"`

	// The maximum age of the model. An older model is not used. Left out, there is no
	// maximum.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="must be at least 1h"
	MaxAge *Duration `json:"maxAge,omitempty"`
}

// RelativePath is a path that stays below its root.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="must be a path below the controller's folder of models: no leading / and no .."
type RelativePath string

// ModelConfigMap is a model file in a ConfigMap.
type ModelConfigMap struct {
	// Name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key under binaryData.
	// +optional
	// +kubebuilder:default="model.safetensors"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// ModelClaim is a registry on a volume.
type ModelClaim struct {
	// Name of a PersistentVolumeClaim in the controller's namespace. The installation
	// mounts it below the controller's folder of models, under its name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a PersistentVolumeClaim"
	Name string `json:"name"`

	// The registry's folder on the volume. Left out, it is the root of the volume.
	// +optional
	Path RelativePath `json:"path,omitempty"`
}
