package v1alpha1

// PrometheusSource is a server that answers as Prometheus does: Prometheus
// itself, Thanos, Mimir, VictoriaMetrics.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.preset) && has(self.queries))",message="preset and queries are both given: keep one; queries of your own may build on a preset with \"with: [NAME]\""
// +kubebuilder:validation:XValidation:rule="!(has(self.bearerToken) && has(self.basicAuth))",message="bearerToken and basicAuth are both given: keep the one that the server asks for"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || self.url.startsWith('https://')",message="tls has no effect on an http:// url: write https:// or leave tls out"
type PrometheusSource struct {
	// The address of the server, such as http://prometheus.monitoring:9090. Names and
	// passwords do not belong here: use bearerToken or basicAuth.
	// +required
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && (self.startsWith('http://') || self.startsWith('https://'))",message="must be an address such as http://prometheus.monitoring:9090"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https?://[^/]*@')",message="has a name or password in it, which everybody can read who can read this resource: use basicAuth"
	URL string `json:"url"`

	// The namespace whose metrics are read. Left out, it is that of this resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Which queries yield which metric, by the name of what measures the traffic.
	// Without preset and queries the first preset that has results is taken.
	// +optional
	// +kubebuilder:validation:Enum=istio;linkerd;otel-spanmetrics;knative;nginx-ingress;cadvisor-ksm
	Preset string `json:"preset,omitempty"`

	// Queries of your own: a key of a ConfigMap in this namespace that holds a file
	// as "loadline history presets NAME" prints it.
	// +optional
	Queries *ConfigMapKey `json:"queries,omitempty"`

	// Values for the variables of the preset or of the queries, such as ok:
	// code="200". They are pieces of PromQL.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z][a-z0-9_]{0,62}$'))",message="a variable is named by small letters, digits and underscores"
	Variables map[string]VariableValue `json:"variables,omitempty"`

	// How often the server scrapes. Left out, it is seen from its series.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="must be from 1s to 10m"
	ScrapeInterval *Duration `json:"scrapeInterval,omitempty"`

	// How long a query may take.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('2m')",message="must be from 1s to 2m"
	Timeout Duration `json:"timeout,omitzero"`

	// A bearer token: a key of a Secret in this namespace.
	// +optional
	BearerToken *SecretKey `json:"bearerToken,omitempty"`

	// Basic authentication: a Secret in this namespace with the keys username and
	// password, such as one of the type kubernetes.io/basic-auth.
	// +optional
	BasicAuth *SecretName `json:"basicAuth,omitempty"`

	// How the connection is secured, beyond what the system's authorities vouch for.
	// +optional
	TLS *TLS `json:"tls,omitempty"`

	// Headers that go with every query, such as the tenant's.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Headers []Header `json:"headers,omitempty"`
}

// VariableValue is a piece of PromQL.
//
// +kubebuilder:validation:MaxLength=512
type VariableValue string

// TLS of a connection.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.caSecret) && has(self.caConfigMap))",message="caSecret and caConfigMap are both given: keep one"
// +kubebuilder:validation:XValidation:rule="!self.insecureSkipVerify || !(has(self.caSecret) || has(self.caConfigMap))",message="insecureSkipVerify accepts any certificate, so an authority has no effect: leave one of them out"
type TLS struct {
	// The certificate authority of the server: a key of a Secret in this namespace.
	// +optional
	CASecret *SecretKey `json:"caSecret,omitempty"`

	// The certificate authority of the server: a key of a ConfigMap in this
	// namespace, such as kube-root-ca.crt.
	// +optional
	CAConfigMap *ConfigMapKey `json:"caConfigMap,omitempty"`

	// Our own certificate: a Secret in this namespace with the keys tls.crt and
	// tls.key, such as one of the type kubernetes.io/tls.
	// +optional
	ClientCertificate *SecretName `json:"clientCertificate,omitempty"`

	// The name that the server's certificate has, if it is not that of the address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`

	// Accept any certificate. Whoever sits in between can then make up metrics.
	// +optional
	// +kubebuilder:default=false
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// Header goes with every query.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.secret)",message="give either value or secret"
type Header struct {
	// The name, such as X-Scope-OrgID.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9-]+$')",message="must consist of letters, digits and hyphens"
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'authorization'",message="is made by bearerToken and basicAuth: use those"
	Name string `json:"name"`

	// Its value, for everybody to read.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value,omitempty"`

	// Its value, from a key of a Secret in this namespace.
	// +optional
	Secret *SecretKey `json:"secret,omitempty"`
}

// SecretName is a Secret of the resource's namespace.
type SecretName struct {
	// Name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SecretKey is a key of a Secret of the resource's namespace.
type SecretKey struct {
	// Name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key in the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// ConfigMapKey is a key of a ConfigMap of the resource's namespace.
type ConfigMapKey struct {
	// Name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key in the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
