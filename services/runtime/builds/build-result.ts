import { isAbsolute, relative, sep } from 'node:path'
import { Compile, Type } from '../../../core/schema.ts'
import type { BuiltProgram } from './build.ts'

const Failure = Type.Object({
  code: Type.Integer({ minimum: 400, maximum: 599 }),
  message: Type.String({ maxLength: 65_536 }),
})
const Texts = Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String(), {
  additionalProperties: false,
})
const Built = Type.Object({
  folder: Type.String(),
  command: Type.Array(Type.String(), { minItems: 1 }),
  env: Texts,
  instances: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  resources: Type.Optional(
    Type.Object({
      memoryBytes: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
      cpus: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    }),
  ),
  protocol: Type.Union([Type.Literal('mx'), Type.Literal('http')]),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  language: Type.Union(
    ['node', 'python', 'go', 'executable', 'command'].map((name) => Type.Literal(name)),
  ),
})
const checkBuilt = Compile(Built)
const checkFailure = Compile(Failure)

/** Result reported by the build process. */
export type BuildResult =
  | { readonly built: BuiltProgram }
  | { readonly failure: { readonly code: number; readonly message: string } }

/**
 * Parses the result of a build process. The result is untrusted, because code from the source ran as the same user and
 * may have written it.
 *
 * @param root build folder that must contain the program.
 * @returns undefined if the result is invalid.
 */
export function parseBuildResult(text: string, root: string): BuildResult | undefined {
  try {
    const { built, failure } = JSON.parse(text)
    if (checkFailure.Check(failure)) return { failure }
    return checkBuilt.Check(built) && isWithin(built.folder, root)
      ? { built: built as BuiltProgram }
      : undefined
  } catch {
    return undefined
  }
}

function isWithin(path: string, root: string): boolean {
  return isAbsolute(path) && relative(root, path).split(sep)[0] !== '..'
}
