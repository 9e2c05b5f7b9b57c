{{- define "fanfold.labels" -}}
app.kubernetes.io/name: fanfold
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fanfold.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
env:
  - {name: TMPDIR, value: /tmp}
  {{- range $name, $value := .Values.env }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
volumeMounts:
  - {name: config, mountPath: /etc/fanfold, readOnly: true}
  - {name: scratch, mountPath: /tmp}
  {{- if .Values.filesClaim }}
  - {name: files, mountPath: /var/lib/fanfold}
  {{- end }}
  {{- range .Values.secretFiles }}
  - {name: secret-{{ . }}, mountPath: /secrets/{{ . }}, readOnly: true}
  {{- end }}
{{- end }}
