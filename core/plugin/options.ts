import { suggest } from '../../lib/text/did-you-mean.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import { Errors, type TObject } from '../schema.ts'

/** Invalid plugin options. */
export class OptionsError extends TypeError {
  /** One line per problem: plugin, option, expected and actual value. */
  readonly problems: readonly string[]
  /** Names of missing required options. */
  readonly missing: readonly string[]

  constructor(problems: readonly string[], missing: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
    this.missing = missing
  }
}

/**
 * Validates options with defaults against the plugin's schema.
 *
 * @throws {OptionsError} with all problems.
 */
export function checkOptions(plugin: string, schema: TObject, options: unknown): void {
  const problems: string[] = []
  const missing: string[] = []
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    problems.push(`options must be an object, got ${inspectShort(options)}`)
  } else {
    const errors = findErrors(schema, options)
    for (const path of new Set(errors.map(({ instancePath }) => instancePath))) {
      const pathErrors = errors.filter(({ instancePath }) => instancePath === path)
      const values = pathErrors.filter(
        ({ keyword }) => keyword !== 'required' && keyword !== UNKNOWN,
      )
      for (const error of pathErrors) {
        if (error.keyword === UNKNOWN)
          for (const name of error.params.additionalProperties)
            problems.push(describeUnknown(schema, toPath(path), name))
        if (error.keyword !== 'required') continue
        for (const name of error.params.requiredProperties) {
          if (path === '') missing.push(name)
          problems.push(`option ${inspectShort(join(toPath(path), name))} is missing`)
        }
      }
      if (values.length > 0) problems.push(describeValue(schema, options, path, values))
    }
  }
  if (problems.length === 0) return
  throw new OptionsError(
    problems.map((problem) => `plugin "${plugin}": ${problem}`),
    missing,
  )
}

type SchemaError = ReturnType<typeof Errors>[number]
const UNKNOWN = 'additionalProperties'

/** Finds errors without duplicates: a value that matches no alternative is one problem, not one per alternative. */
function findErrors(schema: TObject, options: object): SchemaError[] {
  const all = Errors(schema, options)
  // Alternatives and unknown names (`false` schemas) also have more specific errors.
  const specific = all.filter(({ keyword }) => keyword !== 'anyOf' && keyword !== 'boolean')
  const unions = all.filter(
    ({ keyword, instancePath }) =>
      keyword === 'anyOf' && specific.some((error) => error.instancePath === instancePath),
  )
  return specific.filter(
    (error) =>
      !unions.some(({ instancePath }) => error.instancePath.startsWith(`${instancePath}/`)),
  )
}

function describeUnknown(schema: TObject, at: string, name: string): string {
  const known = at === '' ? Object.keys(schema.properties) : []
  const suggestion = suggest(name, known)
  const hint =
    suggestion !== undefined
      ? `, did you mean ${inspectShort(suggestion)}?`
      : known.length > 0
        ? `; known: ${known.join(', ')}`
        : ''
  return `unknown option ${inspectShort(join(at, name))}${hint}`
}

/** @param errors one per alternative that the value does not match. */
function describeValue(
  schema: TObject,
  options: object,
  pointer: string,
  errors: readonly SchemaError[],
): string {
  const expected = [
    ...new Set(
      errors.map((error) =>
        error.keyword === 'const'
          ? inspectShort(error.params.allowedValue)
          : error.message.replace(/^must (be )?/, ''),
      ),
    ),
  ]
  const verb = /^match|^have|^NOT/.test(expected[0] ?? '') ? 'must' : 'must be'
  const keys = pointer.split('/').slice(1).map(decodeKey)
  const actual = keys.reduce(
    (value: unknown, key) => (value as Record<string, unknown>)[key],
    options,
  )
  const secret = (schema.properties[keys[0] ?? ''] as { writeOnly?: boolean } | undefined)
    ?.writeOnly
  return `option ${inspectShort(toPath(pointer))} ${verb} ${expected.join(' or ')}, got ${secret ? typeof actual : inspectShort(actual)}`
}

/** Converts the JSON pointer `/origins/0` to `origins[0]`. */
function toPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .reduce((path, key) => (/^\d+$/.test(key) ? `${path}[${key}]` : join(path, decodeKey(key))), '')
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

/** RFC 6901 §4. */
function decodeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}
