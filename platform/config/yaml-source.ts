import { dirname, resolve } from 'node:path'
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLMap,
  type Node as YamlNode,
} from 'yaml'
import { hideValue } from './references/hidden-values.ts'
import { encodeKey, type ReferencedOptions } from './references/option-values.ts'
import type { References, ResolvedValue } from './references/references.ts'

/**
 * Keys with values that are not addresses, names or settings: options of plugins, and contents of
 * requests and responses.
 */
const PRIVATE_KEYS =
  /^plugins\b|^services\..*\.plugins\b|^consumers\[\d+\]\.plugins\b|^routes\[\d+\]\.(?:plugins|respond|redirect|rewrite)\b/

export interface YamlEntry {
  readonly key: unknown
  readonly name: string
  readonly value: unknown
}

export interface YamlText {
  readonly node: unknown
  readonly text: string
}

/** YAML document with resolved references that reports problems with file, line and column. */
export class YamlSource {
  /** Problems, each as `file:line:column: reason`. */
  readonly problems: string[] = []
  /** Root node; undefined for an empty document. */
  readonly root: unknown
  readonly #file: string
  readonly #lines = new LineCounter()
  readonly #document: Document
  readonly #references: References
  /** Scalars whose references were resolved. */
  readonly #resolved = new Map<unknown, ResolvedValue>()

  constructor(text: string, file: string, references: References) {
    this.#file = file
    this.#references = references
    this.#document = parseDocument(text, {
      lineCounter: this.#lines,
      prettyErrors: false,
    }) as Document
    for (const { code, message, pos } of [...this.#document.errors, ...this.#document.warnings]) {
      const key = /^[^\s:#]+/.exec(text.slice(pos[0]))?.[0]
      const { line } = this.#lines.linePos(pos[0])
      const hint = text.split('\n')[line - 1]!.includes('${')
        ? '; inside [ ] and { } a value with ${ needs quotes'
        : ''
      this.problems.push(
        `${this.#atOffset(pos[0])}: ${code === 'DUPLICATE_KEY' ? `duplicate key "${key}"` : message}${hint}`,
      )
    }
    if (this.problems.length === 0)
      this.#resolve(this.#document.contents, '', dirname(resolve(file)))
    this.root = this.follow(this.#document.contents)
  }

  /** Returns the position of a node as `file:line:column`. */
  at(node: unknown): string {
    return this.#atOffset((node as YamlNode | null | undefined)?.range?.[0] ?? 0)
  }

  report(node: unknown, problem: string): void {
    const resolved = this.#resolved.get(this.follow(node))
    const hidden = resolved === undefined ? problem : hideInput(problem, resolved)
    this.problems.push(`${this.at(node)}: ${this.#references.hidden.hide(hidden)}`)
  }

  /** Resolves aliases. Returns undefined for a missing node and for `null`. */
  follow(node: unknown): unknown {
    const target = isAlias(node) ? node.resolve(this.#document) : node
    return target === null || (isScalar(target) && target.value === null) ? undefined : target
  }

  /**
   * Returns the source text of a scalar, so that `1.10` is not converted to `1.1`, or undefined for
   * other nodes.
   */
  text(node: unknown): string | undefined {
    const scalar = this.follow(node)
    if (!isScalar(scalar)) return undefined
    return typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value))
  }

  /**
   * Returns the scalars of a list with their nodes. A single scalar counts as a list of one.
   * Reports other nodes.
   */
  texts(node: unknown, name: string): YamlText[] {
    const list = this.follow(node)
    const items = isSeq(list) ? list.items : [node]
    return items.flatMap((item) => {
      const text = this.text(item)
      if (text === undefined) this.report(item, `${name} must be a list of single values`)
      return text === undefined ? [] : [{ node: item, text }]
    })
  }

  /** Returns the entries of a map. Reports keys that are not scalars. */
  entries(map: YAMLMap): YamlEntry[] {
    return map.items.flatMap(({ key, value }) => {
      const name = this.text(key)
      if (name === undefined) this.report(key ?? map, 'a key must be a word')
      return name === undefined ? [] : [{ key, name, value: value ?? undefined }]
    })
  }

  toObject(map: YAMLMap): unknown {
    return map.toJS(this.#document)
  }

  /** Returns the values with references in a map, as written, by JSON pointer. */
  findReferences(map: YAMLMap): ReferencedOptions {
    const found = new Map<string, string>()
    const visit = (node: unknown, pointer: string): void => {
      const target = this.follow(node)
      const resolved = this.#resolved.get(target)
      if (resolved !== undefined) found.set(pointer, resolved.display)
      if (isSeq(target))
        for (const [i, item] of target.items.entries()) visit(item, `${pointer}/${i}`)
      if (!isMap(target)) return
      for (const { name, value } of this.entries(target))
        visit(value, `${pointer}/${encodeKey(name)}`)
    }
    if (this.#resolved.size > 0) visit(map, '')
    return found
  }

  #resolve(node: unknown, key: string, folder: string): void {
    if (isSeq(node))
      for (const [i, item] of node.items.entries()) this.#resolve(item, `${key}[${i}]`, folder)
    if (isMap(node)) {
      for (const { key: name, value } of node.items) {
        const text = this.text(name) ?? ''
        this.#resolve(value, key === '' ? text : `${key}.${text}`, folder)
      }
    }
    if (!isScalar(node) || typeof node.value !== 'string') return
    try {
      const resolved = this.#references.resolve(node.value, folder, !PRIVATE_KEYS.test(key))
      if (resolved === undefined) return
      node.value = resolved.text
      this.#resolved.set(node, resolved)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      this.problems.push(`${this.at(node)}: ${key}: ${error.message}`)
    }
  }

  #atOffset(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${this.#file}:${line}:${col}`
  }
}

/** Hides a value that is quoted in an error. */
function hideInput(problem: string, { text, display }: ResolvedValue): string {
  const at = problem.lastIndexOf(', got ')
  if (at === -1) return problem
  // An element of a list is part of the list's value.
  const parts = [text, ...text.split(/[,\s]+/)]
  const quoted = parts.reduce(
    (rest, value) => hideValue(rest, { value, display, sensitivity: 'public' }),
    problem.slice(at + ', got '.length),
  )
  return `${problem.slice(0, at)}, got ${quoted}`
}
