import { resolve } from 'node:path'
import { parseTemplate } from '../../../core/path/template.ts'
import type { FilesAction } from '../types.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'
import { readMap, readText } from './read-map.ts'

export interface FilesContext {
  /** Folder of the configuration file. */
  readonly folder: string
  readonly stripPrefix: string
}

/** A relative path without hidden names, and without `.` and `..`. */
const INNER = /^(?!\.)[^/\\]+(?:\/(?!\.)[^/\\]+)*$/

/** Reads `files:` of a route: a folder, or a map with `root`. */
export function readFilesAction(
  source: YamlSource,
  label: string,
  entry: YamlEntry,
  { folder, stripPrefix }: FilesContext,
): FilesAction {
  const single = source.text(entry.value)
  const entries =
    single === undefined
      ? readMap(source, `files of ${label}`, entry, ['root', 'index', 'fallback', 'cache_control'])
      : new Map([['root', entry]])
  const root = readText(source, entries.get('root'), 'root') ?? ''
  if (root === '') source.report(entry.key, `files of ${label} needs root, a folder such as ./dist`)
  const readInner = (name: string): string | undefined => {
    const text = readText(source, entries.get(name), name)
    if (text === undefined || INNER.test(text)) return text
    source.report(
      entries.get(name)!.value,
      `${name} of ${label} must be a file below root such as index.html, got ${JSON.stringify(text)}`,
    )
    return undefined
  }
  const index = readInner('index') ?? 'index.html'
  if (index.includes('/'))
    source.report(entries.get('index')!.value, `index of ${label} must be a file name`)
  return {
    kind: 'files',
    root: resolve(folder, root),
    index,
    fallback: readInner('fallback'),
    stripPrefix,
    cacheControl: readCacheControl(source, label, entries.get('cache_control')),
  }
}

function readCacheControl(
  source: YamlSource,
  label: string,
  entry: YamlEntry | undefined,
): FilesAction['cacheControl'] {
  if (entry === undefined) return []
  const entries = readMap(source, `cache_control of ${label}`, entry, undefined)
  return [...entries.values()].flatMap((each) => {
    try {
      const template = parseTemplate(each.name)
      const value = readText(source, each, `cache_control of ${label}`) ?? ''
      if (/^[\t\x20-\x7e]+$/.test(value)) return [[template, value] as const]
      source.report(
        each.value ?? each.key,
        `cache_control of ${label} must be the value of a header`,
      )
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      source.report(each.key, `path of cache_control of ${label}: ${error.message}`)
    }
    return []
  })
}
