import type { CAC } from 'cac'
import { type CommandLine, readCommandLine } from './args/args.ts'
import { runSubcommand, type Subcommand } from './args/subcommands.ts'
import {
  addEnvironment,
  deleteEnvironment,
  type Environment,
  findSelected,
  listEnvironments,
  requireKnown,
} from './session/environments.ts'
import { writeConfig } from './state/config.ts'
import { OUTPUT_FLAGS, print, printDone, toFormat } from './ui/format.ts'
import { printProblems } from './ui/output.ts'
import { formatTable } from './ui/table.ts'

const FLAGS = { env: 'string', ...OUTPUT_FLAGS } as const
const NONE = 'none'
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  local: 'Local running Mx Server',
  dev: 'Cloud hosted Mx Server, for development',
  platform: 'Cloud hosted Mx Server',
}

type EnvFlags = CommandLine<typeof FLAGS>['flags']

/** `mx env` and what may follow it (reference 8.5). */
const SUBCOMMANDS: readonly Subcommand<EnvFlags>[] = [
  { words: '', args: [], run: (_, flags) => list(flags) },
  { words: 'list', args: [], run: (_, flags) => list(flags) },
  {
    words: 'get',
    args: [],
    run: (_, flags) => {
      const name = findSelected(flags.env)
      return print(toFormat(flags), name, `${name}\n`)
    },
  },
  {
    words: 'set',
    args: ['NAME'],
    async run([name], flags) {
      const format = toFormat(flags)
      requireKnown(name!)
      await writeConfig('env', name!)
      const { MX_ENV: variable } = process.env
      if (variable && variable !== name)
        printProblems([`MX_ENV is ${variable}, and goes before what is selected`])
      await printDone(format, { name }, `Environment ${name} selected`)
    },
  },
  {
    words: 'add',
    args: ['NAME', '[ADDRESS]'],
    async run([name, input = ''], flags) {
      const format = toFormat(flags)
      const address = await addEnvironment(name!, input)
      await printDone(format, { name, address }, `Environment ${name} added`)
    },
  },
  {
    words: 'del',
    args: ['NAME'],
    async run([name], flags) {
      const format = toFormat(flags)
      await deleteEnvironment(name!)
      await printDone(format, { name }, `Environment ${name} deleted`)
    },
  },
]

/** @throws {CliError} */
export async function runEnv(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  await runSubcommand('env', SUBCOMMANDS, words, flags)
}

async function list(flags: EnvFlags): Promise<void> {
  const format = toFormat(flags)
  const selected = findSelected(flags.env)
  const all = listEnvironments()
  const told = all.map((each) => ({ ...each, selected: each.name === selected }))
  await print(
    format,
    told,
    formatTable(
      all.map((each) => toRow(each, selected)),
      0,
    ),
  )
}

function toRow({ name, address }: Environment, selected: string): readonly string[] {
  return [`${name === selected ? '*' : ' '} ${name}`, address || NONE, DESCRIPTIONS[name] ?? '']
}
