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

export interface YamlEntry {
  readonly key: unknown
  readonly name: string
  readonly value: unknown
}

export interface YamlText {
  readonly node: unknown
  readonly text: string
}

/** YAML document that reports problems with file, line and column. */
export class YamlSource {
  /** `file:line:column: reason` */
  readonly problems: string[] = []
  /** Root node; undefined for an empty document. */
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
        `${this.#atOffset(pos[0])}: ${code === 'DUPLICATE_KEY' ? `duplicate key "${key}"` : message}`,
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

  /** Resolves aliases; undefined for a missing node and `null`. */
  follow(node: unknown): unknown {
    const target = isAlias(node) ? node.resolve(this.#document) : node
    return target === null || (isScalar(target) && target.value === null) ? undefined : target
  }

  /** Source text of a scalar, so that `1.10` stays `1.10`; undefined for other nodes. */
  text(node: unknown): string | undefined {
    const scalar = this.follow(node)
    if (!isScalar(scalar)) return undefined
    return typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value))
  }

  /** Scalars of a list with their nodes; a single scalar is a list of one. Reports other nodes. */
  texts(node: unknown, name: string): YamlText[] {
    const list = this.follow(node)
    const items = isSeq(list) ? list.items : [node]
    return items.flatMap((item) => {
      const text = this.text(item)
      if (text === undefined) this.report(item, `${name} must be a list of single values`)
      return text === undefined ? [] : [{ node: item, text }]
    })
  }

  /** Entries of a map; reports keys that are not scalars. */
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

  #atOffset(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${this.#file}:${line}:${col}`
  }
}
