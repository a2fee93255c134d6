import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import { type Command, defineCommand } from '../../command.ts'
import { gateway } from '../../scaffold/gateway.ts'
import { plugin } from '../../scaffold/plugin.ts'
import { service } from '../../scaffold/service.ts'
import { formatPackageHint, type Template } from '../../scaffold/template.ts'
import { CliError, EXIT, formatColumns, usageError } from '../../ui/output.ts'

const TEMPLATES: readonly Template[] = [service, plugin, gateway]
/** Name that is valid in file names, identifiers and gateway paths. */
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const NAME_MAX = 60

const command: Command = defineCommand({
  name: 'new',
  description: 'Create a service, plugin or gateway project',
  usage: '[service | plugin | gateway] <name>',
  examples: ['mx new helloworld', 'mx new plugin api-key', 'mx new gateway edge'],
  run(words) {
    const { template, path } = readWords(words)
    const folder = resolve(path)
    const name = basename(folder)
    if (!NAME.test(name) || name.length > NAME_MAX)
      throw usage(
        `a name must consist of lower-case letters and digits with single dashes between them, at most ${NAME_MAX} characters, got ${name}`,
      )
    if (existsSync(folder) && !isEmptyFolder(folder))
      throw new CliError(`${path} already exists: choose another name, or an empty folder`)
    const files = Object.entries(template.files(name))
    try {
      mkdirSync(folder, { recursive: true })
      for (const [file, text] of files) writeFileSync(join(folder, file), text, { flag: 'wx' })
    } catch (cause) {
      throw new CliError(`cannot write to ${path}: ${(cause as Error).message}`, { cause })
    }
    const tree = files.map(([file], i) => `${i === files.length - 1 ? '└──' : '├──'} ${file}\n`)
    const next = [[`cd ${path}`, 'open its folder'] as const, ...template.next(name)]
    const lines = formatColumns(next)
    const hint = files.some(([file]) => file === 'package.json') ? formatPackageHint() : ''
    process.stdout.write(
      `Creating ${template.kind} ${name}\n\n${path}\n${tree.join('')}\nNext:\n${lines}\n${hint}`,
    )
  },
})

export default command

function readWords(words: readonly string[]): { template: Template; path: string } {
  const [kind, ...rest] = words.length === 1 ? [service.kind, ...words] : words
  const kinds = TEMPLATES.map((each) => each.kind)
  const path = rest[0]
  if (kind === undefined || path === undefined) throw usageError('new', 'a name is missing')
  const template = TEMPLATES.find((each) => each.kind === kind)
  if (template === undefined) {
    const similar = suggest(kind, kinds)
    const hint =
      similar === undefined ? `expected ${kinds.join(', ')}.` : `did you mean ${similar}?`
    throw usageError('new', `unknown template ${kind}, ${hint}`)
  }
  if (rest.length > 1) throw usageError('new', `expected one name, got ${rest.join(', ')}`)
  if (words.length === 1 && kinds.includes(path))
    throw usage(`a name is missing: mx new ${path} <name>`)
  return { template, path }
}

function isEmptyFolder(path: string): boolean {
  try {
    return readdirSync(path).length === 0
  } catch {
    return false
  }
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}
