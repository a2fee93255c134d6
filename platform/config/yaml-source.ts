import {
  type Document,
  isAlias,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLMap,
  type Node as YamlNode,
} from 'yaml'

/** A key of a map, its name and its value. */
export interface YamlEntry {
  readonly key: unknown
  readonly name: string
  readonly value: unknown
}

/** A scalar and where it stands. */
export interface YamlText {
  readonly node: unknown
  readonly text: string
}

/** A YAML text whose readers report every problem with file, line and column. */
export class YamlSource {
  /** `file:line:column: reason`, in the order found. */
  readonly problems: string[] = []
  /** The top of the document; undefined when it is empty. */
  readonly root: unknown
  readonly #file: string
  readonly #lines = new LineCounter()
  readonly #document: Document

  constructor(text: string, file: string) {
    this.#file = file
    this.#document = parseDocument(text, {
      lineCounter: this.#lines,
      prettyErrors: false,
    }) as Document
    for (const { code, message, pos } of [...this.#document.errors, ...this.#document.warnings]) {
      const key = /^[^\s:#]+/.exec(text.slice(pos[0]))?.[0]
      this.problems.push(
        `${this.#atOffset(pos[0])}: ${code === 'DUPLICATE_KEY' ? `key "${key}" stands here twice` : message}`,
      )
    }
    this.root = this.follow(this.#document.contents)
  }

  /** `file:line:column` of a node. */
  at(node: unknown): string {
    return this.#atOffset((node as YamlNode | null | undefined)?.range?.[0] ?? 0)
  }

  report(node: unknown, problem: string): void {
    this.problems.push(`${this.at(node)}: ${problem}`)
  }

  /** The node itself, or what an alias stands for; undefined for nothing and `null`. */
  follow(node: unknown): unknown {
    const found = isAlias(node) ? node.resolve(this.#document) : node
    return found === null || (isScalar(found) && found.value === null) ? undefined : found
  }

  /** A scalar as it is written, so that `1.10` stays `1.10`; undefined for anything else. */
  text(node: unknown): string | undefined {
    const scalar = this.follow(node)
    if (!isScalar(scalar)) return undefined
    return typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value))
  }

  /** Scalars of a list, with their nodes; one scalar counts as a list of one. Reports anything else. */
  texts(node: unknown, name: string): YamlText[] {
    const list = this.follow(node)
    const items = isSeq(list) ? list.items : [node]
    return items.flatMap((item) => {
      const text = this.text(item)
      if (text === undefined) this.report(item, `${name} must be a list of single values`)
      return text === undefined ? [] : [{ node: item, text }]
    })
  }

  /** Entries of a map; reports keys that are no plain words. */
  entries(map: YAMLMap): YamlEntry[] {
    return map.items.flatMap(({ key, value }) => {
      const name = this.text(key)
      if (name === undefined) this.report(key ?? map, 'a key must be a word')
      return name === undefined ? [] : [{ key, name, value: value ?? undefined }]
    })
  }

  /** A map as a plain object. */
  toObject(map: YAMLMap): unknown {
    return map.toJS(this.#document)
  }

  #atOffset(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${this.#file}:${line}:${col}`
  }
}
