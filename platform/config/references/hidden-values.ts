/**
 * Determines where a value must not appear. `secret` (a file, a secret, or a variable with a name
 * like a secret): in any text. `private` (other variables in options and responses): in texts,
 * unless the value is a short word. `public` (addresses, names and settings): in errors and checks.
 */
export type Sensitivity = 'secret' | 'private' | 'public'

interface Hidden {
  readonly value: string
  /** The reference, such as `${TOKEN}`. */
  readonly display: string
  readonly sensitivity: Sensitivity
}

/** Shorter values occur by chance, so they are hidden only where they are used. */
const LENGTH_MIN = 4
/** Minimum length of `private` values that are hidden in logs, which contain more text. */
const LOGGED_LENGTH_MIN = 8
/**
 * Maximum number of hidden values, including values from earlier reloads; the oldest are dropped.
 */
const VALUES_MAX = 1000
const KEYWORD = /^(?:true|false|none|auto)$/
const WORD = /\w/
const CUT = '...'

/**
 * Values of references, which must not appear in human-readable texts. The references are shown
 * instead.
 */
export class HiddenValues {
  readonly #values = new Map<string, Hidden>()
  /** Sorted by length, longest first, because a value may contain another. */
  #inText: readonly Hidden[] = []
  #inLog: readonly Hidden[] = []

  add(value: string, display: string, sensitivity: Sensitivity): void {
    // Host names, headers and methods are converted to one case before they appear in an error.
    const cases = sensitivity === 'public' ? [] : [value.toLowerCase(), value.toUpperCase()]
    // In quotes, a value appears as JSON.
    const forms = [value, ...cases].flatMap((each) => [each, JSON.stringify(each).slice(1, -1)])
    for (const form of new Set(forms)) {
      const earlier = this.#values.get(form)?.sensitivity
      this.#values.delete(form)
      this.#values.set(form, {
        ...{ value: form, display },
        sensitivity: earlier === 'secret' ? earlier : sensitivity,
      })
    }
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= VALUES_MAX) break
      this.#values.delete(oldest)
    }
    this.#inText = [...this.#values.values()]
      .filter(({ value }) => value.length >= LENGTH_MIN && !KEYWORD.test(value))
      .sort((a, b) => b.value.length - a.value.length)
    this.#inLog = this.#inText.filter(({ value, sensitivity }) =>
      sensitivity === 'private' ? value.length >= LOGGED_LENGTH_MIN : sensitivity === 'secret',
    )
  }

  /** Replaces all values in errors and checks. */
  readonly hide = (text: string): string => this.#inText.reduce(hideValue, text)

  /** Replaces all values that are not public in logs. */
  readonly hideInLog = (text: string): string => this.#inLog.reduce(hideValue, text)

  /** Applies {@link hide} to every string in a JSON value. */
  readonly hideDeep = <T>(value: T): T =>
    this.#inText.length === 0 ? value : (mapStrings(value, this.hide) as T)

  /** Hides the values in the errors of `work`. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#hideError(error)
      throw error
    }
  }

  #hideError(error: unknown): void {
    if (!(error instanceof Error) || this.#inText.length === 0) return
    error.message = this.hide(error.message)
    if (error.stack !== undefined) error.stack = this.hide(error.stack)
    if ('problems' in error && Array.isArray(error.problems))
      Object.assign(error, { problems: this.hideDeep(error.problems) })
    this.#hideError(error.cause)
  }
}

/**
 * Replaces a value and its beginning before `...`. Within a longer word, only a secret is replaced.
 */
export function hideValue(text: string, { value, display, sensitivity }: Hidden): string {
  if (value === '') return text
  const pieces = text.split(value)
  let result = pieces[0]!
  for (const [i, piece] of pieces.slice(1).entries()) {
    const isInWord =
      (WORD.test(value[0]!) && WORD.test(pieces[i]!.at(-1) ?? '')) ||
      (WORD.test(value.at(-1)!) && WORD.test(piece[0] ?? ''))
    result += `${isInWord && sensitivity !== 'secret' ? value : display}${piece}`
  }
  if (!result.includes(CUT)) return result
  const parts = result.split(CUT)
  return parts
    .map((part, i) => (i === parts.length - 1 ? part : hidePrefix(part, value, display)))
    .join(CUT)
}

function hidePrefix(text: string, value: string, display: string): string {
  for (let length = value.length - 1; length >= LENGTH_MIN; length--)
    if (text.endsWith(value.slice(0, length))) return `${text.slice(0, -length)}${display}`
  return text
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((each) => mapStrings(each, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, mapStrings(each, map)]),
  )
}
