import { createHash } from 'node:crypto'
import type { WorkloadKey } from '../../../core/contracts/runtime.ts'

/** Label of everything that belongs to a workload; its value is the workload's id. */
export const WORKLOAD_LABEL = 'mx/workload'
/** Labels of everything mx makes. */
export const MANAGED: Readonly<Record<string, string>> = { 'app.kubernetes.io/managed-by': 'mx' }

/** Label selector of everything mx makes. */
export const SELECTOR: string = Object.entries(MANAGED)
  .map(([label, value]) => `${label}=${value}`)
  .join(',')

/** The namespace of whoever names none: it is where mx itself runs. */
export const DEFAULT_NAMESPACE = 'mx'
/** A pod's name, which is its host name, has 17 characters more, and 63 at most. */
const ID_MAX = 46
const LABEL_MAX = 63
const HASH = 10
/** What ends as if with a hash gets one of its own. */
const HASHED = /-[0-9a-f]{10}$/

/**
 * The name of the objects of a workload: as much of its own as a DNS label takes, and a hash, by which no two are the same.
 * It begins with a letter, as names of Services must.
 */
export function toId({ namespace, name, version }: WorkloadKey): string {
  return toLabel(`mx-${name}-${version}`, hash(namespace, name, version), ID_MAX)
}

/** The name of the Secret of these contents: copies that were told others still read theirs. */
export function toSecretName(id: string, data: Readonly<Record<string, string>>): string {
  return `${id}-${hash(...Object.entries(data).sort().flat())}`
}

/** The id of the workload of a Secret, by the Secret's name. */
export function toWorkloadId(secret: string): string {
  return secret.slice(0, -HASH - 1)
}

/**
 * The Kubernetes namespace of one of mx: `mx` is where mx itself runs, in `own`; another one is `<own>-<namespace>`, with a hash behind
 * it where that is no DNS label.
 */
export function toKubernetesNamespace(namespace: string, own: string): string {
  if (namespace === DEFAULT_NAMESPACE) return own
  const plain = `${own}-${namespace}`
  return isLabel(plain) && !HASHED.test(plain) ? plain : toLabel(plain, hash(namespace), LABEL_MAX)
}

/** A text as the value of a label, as much of it as one takes. */
export function toLabelValue(text: string): string {
  return text
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, LABEL_MAX)
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
}

function isLabel(text: string): boolean {
  return text.length <= LABEL_MAX && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(text)
}

function toLabel(text: string, suffix: string, max: number): string {
  const plain = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, max - suffix.length - 1)
  return `${plain.replace(/-+$/, '')}-${suffix}`
}

function hash(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, HASH)
}
