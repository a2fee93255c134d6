import type { FlagsOf } from '../../args/args.ts'
import { type Command, defineCommand } from '../../command.ts'
import {
  addEnvironment,
  deleteEnvironment,
  type Environment,
  findSelected,
  listEnvironments,
  requireKnown,
} from '../../session/environments.ts'
import { writeConfig } from '../../state/config.ts'
import { OUTPUT_FLAGS, print, printDone, toFormat } from '../../ui/format.ts'
import { printProblems } from '../../ui/output.ts'
import { formatTable } from '../../ui/table.ts'

const FLAGS = {
  ...OUTPUT_FLAGS,
  '--env <name>': 'Environment to use instead of the selected one; overrides MX_ENV',
}
const NONE = 'none'
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  local: 'mx server on this machine',
  dev: 'Cloud-hosted mx server for development',
  platform: 'Cloud-hosted mx server',
}

type EnvFlags = FlagsOf<typeof FLAGS>

const command: Command = defineCommand({
  name: 'env',
  description: 'List, select, add and delete environments',
  flags: FLAGS,
  examples: [
    'mx env add staging staging.example.com:8081',
    'mx env add secure mxs://mx.example.com      # TLS',
    'mx env set staging',
  ],
  subcommands: {
    '': (_, flags) => list(flags),
    list: (_, flags) => list(flags),
    get: (_, flags) => {
      const name = findSelected(flags.env)
      return print(toFormat(flags), name, `${name}\n`)
    },
    'set <name>': async ([name], flags) => {
      const format = toFormat(flags)
      requireKnown(name)
      await writeConfig('env', name)
      const { MX_ENV: variable } = process.env
      if (variable && variable !== name)
        printProblems([`MX_ENV=${variable} overrides the selected environment`])
      await printDone(format, { name }, `Environment ${name} selected`)
    },
    'add <name> [host:port]': async ([name, input = ''], flags) => {
      const format = toFormat(flags)
      const address = await addEnvironment(name, input)
      await printDone(format, { name, address }, `Environment ${name} added`)
    },
    'del <name>': async ([name], flags) => {
      const format = toFormat(flags)
      await deleteEnvironment(name)
      await printDone(format, { name }, `Environment ${name} deleted`)
    },
  },
})

export default command

async function list(flags: EnvFlags): Promise<void> {
  const format = toFormat(flags)
  const selected = findSelected(flags.env)
  const all = listEnvironments()
  const view = all.map((each) => ({ ...each, selected: each.name === selected }))
  await print(
    format,
    view,
    formatTable(
      all.map((each) => toRow(each, selected)),
      0,
    ),
  )
}

function toRow({ name, address }: Environment, selected: string): readonly string[] {
  return [`${name === selected ? '*' : ' '} ${name}`, address || NONE, DESCRIPTIONS[name] ?? '']
}
