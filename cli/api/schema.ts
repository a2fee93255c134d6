import { usageError } from '../ui/output.ts'

/** `mx api schema`: prints the JSON Schema of `mx.yaml`. @throws {CliError} for arguments */
export async function runSchema(words: readonly string[]): Promise<void> {
  if (words.length > 0) throw usageError('api', `unexpected argument ${JSON.stringify(words[0])}`)
  const { createConfigSchema } = await import('../../platform/config/schema/create-schema.ts')
  process.stdout.write(`${JSON.stringify(createConfigSchema(), null, 2)}\n`)
}
