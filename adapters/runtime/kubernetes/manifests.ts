import type {
  V1Container,
  V1Deployment,
  V1EnvVar,
  V1ObjectMeta,
  V1Secret,
  V1Service,
} from '@kubernetes/client-node'
import type { Resources, Workload } from '../../../core/contracts/runtime.ts'
import { MANAGED, toId, toLabelValue, toSecretName, WORKLOAD_LABEL } from './names.ts'

/**
 * Pod Security Standard of instances. `restricted`: the image must not run as root and has no
 * capabilities. `baseline`: the image chooses its user, including root.
 */
export type PodSecurity = 'restricted' | 'baseline'

/** Pod settings of all workloads. */
export interface PodOptions {
  readonly podSecurity: PodSecurity
  /** Whether only `/tmp` is writable. */
  readonly isRootReadOnly: boolean
  /** Resource requests of workloads without limits. */
  readonly requests: Resources
}

export interface ManifestOptions extends PodOptions {
  /** A new value restarts the instances of a revision. */
  readonly attempt: string | undefined
}

/** Annotation with the key of a workload as JSON. Object names contain only its hash. */
export const KEY_ANNOTATION = 'mx/key'
/** Annotations of pods with their revision and attempt. */
export const REVISION_ANNOTATION = 'mx/revision'
export const ATTEMPT_ANNOTATION = 'mx/attempt'
/** Pod annotation with the name of the Secret that the pod reads. */
export const SECRET_ANNOTATION = 'mx/secret'
/** Name of the single container of a pod. */
export const CONTAINER = 'main'
/** Time limit for a revision to become ready in seconds, including the image pull. */
export const PROGRESS_SECONDS = 300
/** Seconds from SIGTERM to SIGKILL. */
export const GRACE_SECONDS = 30

/** Time limit for an instance to start listening in seconds, after which it is restarted. */
const START_SECONDS = 60
/**
 * Delay before SIGTERM in seconds, during which gateways discover that the instance is terminating.
 */
const LEAVE_SECONDS = 3
const DEFAULT_PORT = 8080
/** Name of the volume for `/tmp`. */
const SCRATCH = 'tmp'
/** Variable with the instance id. Only this adapter sets it. */
const INSTANCE = 'MX_INSTANCE'
/** Variables stored in the Deployment. All other variables may be secret. */
const PLAIN: ReadonlySet<string> = new Set([
  'MX_PROFILE',
  'MX_SERVICE_NAME',
  'MX_SERVICE_VERSION',
  'MX_PROXY',
  'MX_NAMESPACE',
])

/**
 * Returns the Deployment of the instances. A new instance must be ready before an old one is
 * terminated.
 *
 * @throws {TypeError} if the program is not an image, or an address in the environment has no port.
 */
export function toDeployment(workload: Workload, options: ManifestOptions): V1Deployment {
  const { revision, instances } = workload
  const id = toId(workload)
  const { attempt, podSecurity, isRootReadOnly } = options
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...toMetadata(workload), name: id },
    spec: {
      replicas: instances,
      selector: { matchLabels: { [WORKLOAD_LABEL]: id } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      progressDeadlineSeconds: PROGRESS_SECONDS,
      revisionHistoryLimit: 2,
      template: {
        metadata: {
          labels: toLabels(workload),
          annotations: {
            [REVISION_ANNOTATION]: revision,
            [SECRET_ANNOTATION]: toSecretNameOf(workload),
            ...(attempt !== undefined && { [ATTEMPT_ANNOTATION]: attempt }),
          },
        },
        spec: {
          containers: [toContainer(workload, options)],
          ...(isRootReadOnly && { volumes: [{ name: SCRATCH, emptyDir: {} }] }),
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE_SECONDS + LEAVE_SECONDS,
          securityContext: {
            seccompProfile: { type: 'RuntimeDefault' },
            ...(podSecurity === 'restricted' && { runAsNonRoot: true }),
          },
        },
      },
    },
  }
}

/**
 * Returns the Service through which the Kubernetes registry and the cluster DNS discover the
 * instances.
 *
 * @param owner uid of the Deployment, whose deletion also deletes the Service. @default none
 */
export function toService(workload: Workload, owner?: string): V1Service {
  const { name, version, env, protocol } = workload
  const id = toId(workload)
  const metadata = toMetadata(workload, owner)
  const service = env['MX_SERVICE_NAME'] || name
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      ...metadata,
      name: id,
      annotations: {
        ...metadata.annotations,
        'mx/name': service,
        'mx/version': env['MX_SERVICE_VERSION'] || version,
        // Gateways proxy all paths to it.
        ...(protocol === 'http' && {
          'mx/path': `/${service},/${service}/**`,
          'mx/handler': 'web',
        }),
      },
    },
    spec: {
      selector: { [WORKLOAD_LABEL]: id },
      ports: [{ name: protocol, port: toPort(workload), targetPort: CONTAINER }],
    },
  }
}

/**
 * Returns the Secret with the credentials and all other variables that may be secret.
 *
 * @param owner see {@link toService}.
 */
export function toSecret(workload: Workload, owner?: string): V1Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { ...toMetadata(workload, owner), name: toSecretNameOf(workload) },
    data: toData(workload),
  }
}

export function toSecretNameOf(workload: Workload): string {
  return toSecretName(toId(workload), toData(workload))
}

function toData({ env }: Workload): Record<string, string> {
  const data: Record<string, string> = {}
  for (const [name, value] of Object.entries(env))
    if (!PLAIN.has(name) && name !== INSTANCE) data[name] = Buffer.from(value).toString('base64')
  return data
}

function toContainer(workload: Workload, options: PodOptions): V1Container {
  const { program, resources } = workload
  const { podSecurity, isRootReadOnly, requests } = options
  if (program.kind !== 'image')
    throw new TypeError(`${workload.name} cannot run in Kubernetes: the program must be an image`)
  const { image, command, args } = program
  const probe = { tcpSocket: { port: CONTAINER }, periodSeconds: 1 }
  const limits = toQuantities(resources)
  return {
    name: CONTAINER,
    image,
    ...(command && { command: command.map(toLiteral) }),
    ...(args && { args: args.map(toLiteral) }),
    env: toEnv(workload),
    ports: [{ name: CONTAINER, containerPort: toPort(workload) }],
    resources: { requests: { ...toQuantities(requests), ...limits }, limits },
    ...(isRootReadOnly && { volumeMounts: [{ name: SCRATCH, mountPath: '/tmp' }] }),
    startupProbe: { ...probe, failureThreshold: START_SECONDS },
    readinessProbe: { ...probe, periodSeconds: 5 },
    lifecycle: { preStop: { sleep: { seconds: LEAVE_SECONDS } } },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: {
      allowPrivilegeEscalation: false,
      ...(isRootReadOnly && { readOnlyRootFilesystem: true }),
      ...(podSecurity === 'restricted' && { capabilities: { drop: ['ALL'] } }),
    },
  }
}

function toQuantities({ memoryBytes, cpus }: Resources): Record<string, string> {
  return {
    ...(memoryBytes !== undefined && { memory: `${memoryBytes}` }),
    ...(cpus !== undefined && { cpu: `${Math.ceil(cpus * 1000)}m` }),
  }
}

function toEnv(workload: Workload): V1EnvVar[] {
  const { env, protocol } = workload
  const secret = toSecretNameOf(workload)
  const port = toPort(workload)
  const variable = protocol === 'mx' ? ['MX_SERVICE_ADDRESS', `:${port}`] : ['PORT', `${port}`]
  const [address = '', value = ''] = variable
  const all: V1EnvVar[] = [
    { name: INSTANCE, valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ]
  if (env[address] === undefined) all.push({ name: address, value })
  for (const [name, text] of Object.entries(env))
    if (PLAIN.has(name)) all.push({ name, value: toLiteral(text) })
  for (const key of Object.keys(toData(workload)))
    all.push({ name: key, valueFrom: { secretKeyRef: { name: secret, key } } })
  return all
}

/** Returns the listening port of an instance, from its environment or chosen by this adapter. */
function toPort({ protocol, port, env }: Workload): number {
  const name = protocol === 'mx' ? 'MX_SERVICE_ADDRESS' : 'PORT'
  const text = env[name]
  if (text === undefined) return (protocol === 'http' && port) || DEFAULT_PORT
  const number = Number(/(?:^|:)([0-9]{1,5})$/.exec(text)?.[1])
  if (number >= 1 && number <= 65_535) return number
  throw new TypeError(`${name} must end with a port from 1 to 65535, got ${JSON.stringify(text)}`)
}

/** Escapes `$`, because Kubernetes expands `$(NAME)` and `$$`. */
function toLiteral(text: string): string {
  return text.replaceAll('$', () => '$$')
}

function toMetadata(workload: Workload, owner?: string): V1ObjectMeta {
  const { namespace, name, version } = workload
  return {
    labels: toLabels(workload),
    annotations: { [KEY_ANNOTATION]: JSON.stringify({ namespace, name, version }) },
    ...(owner !== undefined && {
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'Deployment', name: toId(workload), uid: owner },
      ],
    }),
  }
}

function toLabels(workload: Workload): Record<string, string> {
  return {
    ...MANAGED,
    'app.kubernetes.io/name': toLabelValue(workload.name),
    'app.kubernetes.io/version': toLabelValue(workload.version),
    [WORKLOAD_LABEL]: toId(workload),
  }
}
