{{/* The pod of both workloads. It keeps the Pod Security Standard `restricted`. */}}
{{- define "mx.pod" -}}
metadata:
  labels:
    {{- include "mx.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Other settings are other pods.
    checksum/config: {{ include "mx.config" . | sha256sum }}
    prometheus.io/scrape: "true"
    prometheus.io/port: "8089"
    prometheus.io/path: /metrics
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "mx.serviceAccount" . }}
  enableServiceLinks: false
  # Longer than drain_delay and drain_timeout together; a server drains twice.
  terminationGracePeriodSeconds: 60
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    # Not at each mount: mx refuses a data folder that its group may write to.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "mx.selector" . | nindent 10 }}
  containers:
    - name: mx
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [{{ .Values.program }}, --config=/etc/mx/mx.yaml]
      {{- $makesKey := and (include "mx.isEmbedded" .) (not .Values.existingSecret) }}
      {{- if or $makesKey .Values.env }}
      env:
        {{- if $makesKey }}
        # A key made at the first start, and stored in the volume.
        - name: MX_CONFIG_SECRET_KEY
          value: file
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with .Values.existingSecret }}
      envFrom:
        - secretRef:
            name: {{ . }}
      {{- end }}
      ports:
        - name: http
          containerPort: 8080
        {{- if eq .Values.program "server" }}
        - name: rpc
          containerPort: 8081
        - name: dashboard
          containerPort: 8082
        {{- end }}
        - name: admin
          containerPort: 8089
      startupProbe:
        httpGet:
          path: /readyz
          port: admin
        periodSeconds: 1
        failureThreshold: 60
      readinessProbe:
        httpGet:
          path: /readyz
          port: admin
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      livenessProbe:
        httpGet:
          path: /livez
          port: admin
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 3
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: config
          mountPath: /etc/mx
          readOnly: true
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        {{- with .Values.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "mx.fullname" . }}
    - name: tmp
      emptyDir: {}
    {{- if not (include "mx.isEmbedded" .) }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- with .Values.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
