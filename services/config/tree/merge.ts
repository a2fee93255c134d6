import { badRequest } from '../../../sdk/errors.ts'
import type { ConfigInput, ConfigInputMap } from './parse-value.ts'
import { formatPath } from './path.ts'
import { type ConfigMap, type ConfigNode, EMPTY, holdsSecret, isMap, MASK } from './tree.ts'

/** Encrypts and decrypts the secrets of a namespace. Errors are returned to callers. */
export interface Sealer {
  readonly seal: (names: readonly string[], text: string) => string
  readonly open: (names: readonly string[], sealed: string) => string
}

export interface MergeOptions {
  /** Whether the entire value is secret. */
  readonly secret: boolean
  readonly sealer: Sealer
  /** Id used in errors. */
  readonly id: string
}

export interface Merged {
  /** New tree; the same object if nothing changed. */
  readonly tree: ConfigMap
  /** Paths of values that become secret. */
  readonly newlySecret: readonly (readonly string[])[]
}

/**
 * Sets a value (reference 3). Maps are merged leaf by leaf; any other value replaces the existing
 * one.
 *
 * A value that replaces a secret is also secret. The text `[secret]` leaves a secret unchanged, so
 * that a tree read without secrets can be written back.
 *
 * @param names path of the value. At the empty path, only a map is accepted.
 * @throws {GatewayError} 400 for `[secret]` if there is no existing secret, and for a value that is
 * not a map at the empty path.
 */
export function setNode(
  tree: ConfigMap,
  names: readonly string[],
  input: ConfigInput,
  { secret, sealer, id }: MergeOptions,
): Merged {
  const newlySecret: (readonly string[])[] = []

  function merge(
    old: ConfigNode | undefined,
    next: ConfigInput,
    path: readonly string[],
    isSecret: boolean,
  ): ConfigNode {
    const remainsSecret = isSecret || (old !== undefined && !isMap(old) && old.secret)
    if (typeof next !== 'string') return mergeMap(old, next, path, remainsSecret)
    if (next === MASK) return retainSecret(old, path)
    if (!remainsSecret && (old === undefined || !holdsSecret(old)))
      return old !== undefined && !isMap(old) && old.text === next
        ? old
        : { text: next, secret: false }
    if (old === undefined || isMap(old) || !old.secret) newlySecret.push(path)
    else if (sealer.open(path, old.text) === next) return old
    return { text: sealer.seal(path, next), secret: true }
  }

  function mergeMap(
    old: ConfigNode | undefined,
    next: ConfigInputMap,
    path: readonly string[],
    isSecret: boolean,
  ): ConfigMap {
    const base = old !== undefined && isMap(old) ? old : EMPTY
    const copy = new Map(base)
    let changed = base !== old
    for (const [name, child] of next) {
      const before = base.get(name)
      const after = merge(before, child, [...path, name], isSecret)
      if (after === before) continue
      copy.set(name, after)
      changed = true
    }
    return changed ? copy : base
  }

  function retainSecret(old: ConfigNode | undefined, path: readonly string[]): ConfigNode {
    if (old !== undefined && !isMap(old) && old.secret) return old
    throw badRequest(
      id,
      `request.value.data must not be ${MASK} at ${formatPath(path)}: it refers to an existing secret, but the field has no secret`,
    )
  }

  if (names.length === 0 && typeof input === 'string')
    throw badRequest(id, 'request.value.data must be an object if the path is empty')
  const wrapped = names.reduceRight<ConfigInput>((inner, name) => new Map([[name, inner]]), input)
  return { tree: merge(tree, wrapped, [], secret) as ConfigMap, newlySecret }
}
