import { resolve } from 'node:path'
import { isMap, isSeq } from 'yaml'
import type { PluginEntry } from './types.ts'
import type { YamlEntry, YamlSource } from './yaml-source.ts'

/** Reads a list `plugins:`. */
export function readPlugins(
  source: YamlSource,
  { key, value }: YamlEntry,
  folder: string,
): PluginEntry[] {
  const list = source.follow(value)
  if (isSeq(list)) return list.items.flatMap((item) => readPlugin(source, item, folder))
  source.report(value ?? key, 'plugins must be a list of names and files; [] for none')
  return []
}

function readPlugin(source: YamlSource, item: unknown, folder: string): PluginEntry[] {
  const node = source.follow(item)
  const at = source.at(item)
  const single = source.text(node)
  if (single !== undefined)
    return [{ specifier: resolveSpecifier(single, folder), options: undefined, at }]
  const entries = isMap(node) ? source.entries(node) : []
  if (entries.length !== 1) {
    source.report(
      item,
      'a plugin must be a name or a file, optionally with options: "name: {option: value}"',
    )
    return []
  }
  const { name, value } = entries[0]!
  const options = source.follow(value)
  if (options !== undefined && !isMap(options)) {
    source.report(value, `options of plugin "${name}" must be a map`)
    return []
  }
  return [
    {
      specifier: resolveSpecifier(name, folder),
      options: isMap(options) ? source.toObject(options) : undefined,
      ...(isMap(options) && { references: source.findReferences(options) }),
      at,
    },
  ]
}

/** Resolves plugin files relative to `folder`. Names are returned unchanged. */
function resolveSpecifier(specifier: string, folder: string): string {
  return /^\.{0,2}\//.test(specifier) ? resolve(folder, specifier) : specifier
}
