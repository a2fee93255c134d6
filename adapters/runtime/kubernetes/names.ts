import { createHash } from 'node:crypto'
import type { WorkloadKey } from '../../../core/contracts/runtime.ts'

/** Label on all objects of a workload. Its value is the workload id. */
export const WORKLOAD_LABEL = 'mx/workload'
/** Labels of all objects created by mx. */
export const MANAGED: Readonly<Record<string, string>> = { 'app.kubernetes.io/managed-by': 'mx' }

/** Label selector of all objects created by mx. */
export const SELECTOR: string = Object.entries(MANAGED)
  .map(([label, value]) => `${label}=${value}`)
  .join(',')

/** Default namespace, in which mx itself runs. */
export const DEFAULT_NAMESPACE = 'mx'
/**
 * Pod names, which are used as host names, append 17 characters and are limited to 63 characters.
 */
const ID_MAX = 46
const LABEL_MAX = 63
const HASH = 10
/** A hash is appended to names that end like a hash, to avoid collisions. */
const HASHED = /-[0-9a-f]{10}$/

/**
 * Returns the object name of a workload: its name, shortened to a DNS label, and a hash that makes
 * it unique. It starts with a letter as required for Service names.
 */
export function toId({ namespace, name, version }: WorkloadKey): string {
  return toLabel(`mx-${name}-${version}`, hash(namespace, name, version), ID_MAX)
}

/**
 * Returns the Secret name for these contents. Instances of an earlier revision still read their own
 * Secret.
 */
export function toSecretName(id: string, data: Readonly<Record<string, string>>): string {
  return `${id}-${hash(...Object.entries(data).sort().flat())}`
}

/** Returns the workload id from the name of a Secret. */
export function toWorkloadId(secret: string): string {
  return secret.slice(0, -HASH - 1)
}

/**
 * Returns the Kubernetes namespace of an mx namespace: `base` for `mx`, which contains mx itself;
 * otherwise `<base>-<namespace>`, with a hash if that is not a DNS label.
 */
export function toKubernetesNamespace(namespace: string, base: string): string {
  if (namespace === DEFAULT_NAMESPACE) return base
  const plain = `${base}-${namespace}`
  return isLabel(plain) && !HASHED.test(plain) ? plain : toLabel(plain, hash(namespace), LABEL_MAX)
}

/** Converts a text to a label value, truncating it if necessary. */
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
