import { isMap } from 'yaml'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'

/** Returns the keys of a map with their values. Reports all other keys and values. */
export function readMap(
  source: YamlSource,
  label: string,
  { key, value }: Pick<YamlEntry, 'key' | 'value'>,
  keys: readonly string[] | undefined,
): ReadonlyMap<string, YamlEntry> {
  const map = source.follow(value)
  const entries = new Map<string, YamlEntry>()
  if (!isMap(map)) {
    source.report(value ?? key, `${label} must be a map`)
    return entries
  }
  for (const entry of source.entries(map)) {
    if (keys === undefined || keys.includes(entry.name)) entries.set(entry.name, entry)
    else {
      const suggestion = suggest(entry.name, keys)
      const hint =
        suggestion === undefined ? `expected ${keys.join(', ')}` : `did you mean "${suggestion}"?`
      source.report(entry.key, `unknown key "${entry.name}" of ${label}, ${hint}`)
    }
  }
  return entries
}

/**
 * Returns the text of a single value, or undefined if there is no entry. Reports lists and maps.
 */
export function readText(
  source: YamlSource,
  entry: YamlEntry | undefined,
  label: string,
): string | undefined {
  if (entry === undefined) return undefined
  const text = source.text(entry.value)
  if (text === undefined) source.report(entry.value ?? entry.key, `${label} must be one value`)
  return text
}
