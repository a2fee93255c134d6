import { isSeq } from 'yaml'
import { readMap, readText } from './actions/read-map.ts'
import { readPlugins } from './parse-plugins.ts'
import { readPriority } from './services/priority.ts'
import type { ConfiguredConsumer } from './types.ts'
import type { YamlEntry, YamlSource } from './yaml-source.ts'

const KEYS = ['account', 'namespace', 'priority', 'plugins']

/** Reads `consumers:`. */
export function readConsumers(
  source: YamlSource,
  { key, value }: YamlEntry,
  folder: string,
): readonly ConfiguredConsumer[] {
  const list = source.follow(value)
  if (!isSeq(list)) {
    source.report(value ?? key, 'consumers must be a list, such as "- account: partner"')
    return []
  }
  const names = new Set<string>()
  return list.items.flatMap((item, i) => {
    const label = `consumer ${i + 1}`
    const before = source.problems.length
    const entries = readMap(source, label, { key: item, value: item }, KEYS)
    const account = readText(source, entries.get('account'), 'account') ?? ''
    const namespace = readText(source, entries.get('namespace'), 'namespace') ?? 'mx'
    const listed = entries.get('plugins')
    const plugins = listed === undefined ? [] : readPlugins(source, listed, folder)
    const priority = readPriority(source, label, entries.get('priority'))
    if (source.problems.length > before) return []
    if (account === '') source.report(item, `${label} must have an account`)
    else if (names.has(`${namespace}/${account}`))
      source.report(item, `duplicate account "${account}" of namespace "${namespace}"`)
    names.add(`${namespace}/${account}`)
    return [{ account, namespace, plugins, ...(priority && { priority }), at: source.at(item) }]
  })
}
