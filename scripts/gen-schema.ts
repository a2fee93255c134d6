/**
 * Writes mx.schema.json, the JSON Schema of mx.yaml, from the settings, plugins and routes. `--check` writes nothing
 * and fails if the file is stale.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createConfigSchema } from '../platform/config/schema/create-schema.ts'
import { ROOT } from './root.ts'

const FILE = 'mx.schema.json'

const path = join(ROOT, FILE)
const text = `${JSON.stringify(createConfigSchema(), null, 2)}\n`
const current = await readFile(path, 'utf8').catch(() => '')
if (current !== text) {
  if (process.argv.includes('--check')) {
    process.stderr.write(`${FILE} is stale: run npm run gen\n`)
    process.exitCode = 1
  } else {
    await writeFile(path, text)
    process.stdout.write(`${FILE} written\n`)
  }
}
