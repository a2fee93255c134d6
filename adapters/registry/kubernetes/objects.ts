/** Subset of a Service (core/v1) that is used here. */
export interface KubernetesService {
  readonly name: string
  /** `resourceVersion`. Equal values mean equal states. */
  readonly revision: string
  /** Annotations with the `mx/` prefix, which is removed. */
  readonly annotations: ReadonlyMap<string, string>
  readonly ports: readonly ServicePort[]
  /** Preferred address family of dual-stack Services. */
  readonly family: 'IPv4' | 'IPv6'
}

export interface ServicePort {
  readonly name: string
  readonly port: number
  readonly appProtocol: string
}

/** Subset of an EndpointSlice (discovery.k8s.io/v1) that is used here. */
export interface Slice {
  /** Name of the Service that the slice belongs to. */
  readonly service: string
  /** `resourceVersion`. Equal values mean equal states. */
  readonly revision: string
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string
  /** Port number by the port's name. */
  readonly ports: ReadonlyMap<string, number>
  readonly endpoints: readonly SliceEndpoint[]
}

export interface SliceEndpoint {
  readonly address: string
  /** Name of the pod. */
  readonly pod: string | undefined
  /** Whether the endpoint is terminating but still serving. */
  readonly draining: boolean
}

const PREFIX = 'mx/'
/** https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetesioservice-name */
const SERVICE_LABEL = 'kubernetes.io/service-name'

/**
 * Returns undefined for Services without routes: Services with `mx/ignore: "true"`, the API server
 * itself, and `ExternalName` Services. With the latter, anyone who can write Services could point
 * the gateway to any host.
 */
export function toKubernetesService(object: unknown): KubernetesService | undefined {
  const { metadata, spec } = object as RawService
  const annotations = new Map<string, string>()
  for (const [key, value] of Object.entries(metadata?.annotations ?? {}))
    if (key.startsWith(PREFIX)) annotations.set(key.slice(PREFIX.length), value)
  const { component, provider } = metadata?.labels ?? {}
  if (component === 'apiserver' && provider === 'kubernetes') return undefined
  if (annotations.get('ignore') === 'true' || spec?.type === 'ExternalName') return undefined
  return {
    name: metadata?.name ?? '',
    revision: metadata?.resourceVersion ?? '',
    annotations,
    ports: (spec?.ports ?? []).filter(isTcp).map(({ name = '', port = 0, appProtocol = '' }) => ({
      name,
      port,
      appProtocol,
    })),
    family: spec?.ipFamilies?.[0] === 'IPv6' ? 'IPv6' : 'IPv4',
  }
}

export function toSlice(object: unknown): Slice {
  const { metadata, addressType = '', endpoints, ports } = object as RawSlice
  const usableEndpoints: SliceEndpoint[] = []
  for (const { addresses, conditions, targetRef } of endpoints ?? []) {
    // The addresses of one endpoint are interchangeable, and consumers may use only the first.
    const address = addresses?.[0]
    const draining = conditions?.terminating === true
    // `ready` defaults to true, `serving` to `ready`.
    const ready = conditions?.ready ?? true
    const usable = draining ? (conditions?.serving ?? ready) : ready
    if (address === undefined || !usable) continue
    const pod = targetRef?.kind === 'Pod' ? targetRef.name : undefined
    usableEndpoints.push({ address, pod, draining })
  }
  const numbers = (ports ?? [])
    .filter(isTcp)
    .flatMap(({ name, port }): [string, number][] =>
      typeof port === 'number' ? [[name ?? '', port]] : [],
    )
  return {
    service: metadata?.labels?.[SERVICE_LABEL] ?? '',
    revision: metadata?.resourceVersion ?? '',
    addressType,
    ports: new Map(numbers),
    endpoints: usableEndpoints,
  }
}

interface RawMetadata {
  readonly name?: string
  readonly resourceVersion?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
}

interface RawPort {
  readonly name?: string | null
  readonly port?: number | null
  readonly protocol?: string | null
  readonly appProtocol?: string
}

interface RawService {
  readonly metadata?: RawMetadata
  readonly spec?: {
    readonly type?: string
    readonly ports?: readonly (RawPort & { readonly name?: string; readonly port?: number })[]
    readonly ipFamilies?: readonly string[]
  }
}

interface RawSlice {
  readonly metadata?: RawMetadata
  readonly addressType?: string
  readonly ports?: readonly RawPort[] | null
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[]
        readonly conditions?: {
          readonly ready?: boolean | null
          readonly serving?: boolean | null
          readonly terminating?: boolean | null
        }
        readonly targetRef?: { readonly kind?: string; readonly name?: string }
      }[]
    | null
}

function isTcp({ protocol }: RawPort): boolean {
  return (protocol ?? 'TCP') === 'TCP'
}
