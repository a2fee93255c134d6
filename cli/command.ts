import { checkNoWords, type FlagsOf, type FlagTable, readCommandLine } from './args/args.ts'
import { runSubcommand, type Subcommands, toPhrase } from './args/subcommands.ts'

/** A built-in command, as listed by the program. */
export interface CommandEntry {
  readonly name: string
  readonly description: string
  /**
   * Present if a service has the same name: first words of the subcommands. Any other word is an endpoint of the
   * service.
   */
  readonly subcommands?: readonly string[]
  /** Loads the module of the command on use. */
  readonly load: () => Promise<Command>
}

/** A command created by {@link defineCommand}. */
export interface Command extends Pick<Declaration, 'name' | 'description'> {
  readonly sharesServiceName: boolean
  /** Arguments in the usage line. */
  readonly usage: string
  /** Forms of the subcommands, such as `create rule <id>`. */
  readonly forms: readonly string[]
  /** Descriptions of subcommands by phrase. Other subcommands use the description of the command. */
  readonly summaries: Readonly<Record<string, string>>
  /** Completion candidates, such as `create rule`. */
  readonly phrases: readonly string[]
  readonly flags: FlagTable
  readonly settings: Declaration['settings'] | undefined
  readonly examples: readonly string[]
  /** @throws {CliError} */
  readonly run: (args: readonly string[]) => Promise<void>
}

type RawAction = (args: readonly string[]) => Promise<void>

interface Declaration<Flags extends FlagTable = FlagTable, Form extends string = string> {
  readonly name: string
  /** Imperative description without a full stop. */
  readonly description: string
  /** Arguments in the usage line. @default the forms of the subcommands; without subcommands, arguments are rejected */
  readonly usage?: string
  readonly flags?: Flags
  readonly examples: readonly string[]
  readonly run?: (words: readonly string[], flags: FlagsOf<Flags>) => Promise<void> | void
  /** Actions by form, such as `create rule <id>`. */
  readonly subcommands?: Subcommands<Form, FlagsOf<Flags>>
  /** True if a service has the same name. A word that is not a subcommand is then an endpoint of the service. */
  readonly sharesServiceName?: boolean
  /** Set if the platform parses the flags as the settings of `mx server` or `mx api`. */
  readonly settings?: 'server' | 'api'
  /** Subcommands whose arguments the platform parses, by form. */
  readonly rawSubcommands?: Readonly<Record<string, RawAction>>
  readonly summaries?: Command['summaries']
  /** Moves arguments before flags, so that flags may precede a raw subcommand. */
  readonly arrange?: (args: readonly string[]) => readonly string[]
  /** Action of a command whose arguments the platform parses. */
  readonly runRaw?: RawAction
}

/**
 * Declares a command: the default export of a file in `cli/commands/<group>/`. `npm run gen` lists it in
 * `cli/commands.gen.ts`.
 */
export function defineCommand<
  Flags extends FlagTable = Record<never, string>,
  Form extends string = never,
>(declaration: Declaration<Flags, Form>): Command {
  const { name, description, settings, examples, sharesServiceName = false } = declaration
  const { summaries = {} } = declaration
  const { rawSubcommands = {}, subcommands, runRaw, run } = declaration
  const flags: FlagTable = declaration.flags ?? {}
  const forms = [...Object.keys(subcommands ?? {}), ...Object.keys(rawSubcommands)]
  const usage = declaration.usage ?? formatForms(forms, settings !== undefined)
  return {
    ...{ name, description, sharesServiceName, usage, flags, examples, settings, forms, summaries },
    phrases: forms.length > 0 ? forms.map(toPhrase) : findChoices(usage),
    async run(args) {
      const [first, ...rest] = declaration.arrange?.(args) ?? args
      const raw = Object.keys(rawSubcommands).find((form) => form.split(' ')[0] === first)
      if (raw !== undefined) return rawSubcommands[raw]!(rest)
      if (runRaw !== undefined) return runRaw(args)
      const line = readCommandLine(name, args, (declaration.flags ?? {}) as Flags)
      if (subcommands !== undefined) return runSubcommand(name, subcommands, line.words, line.flags)
      if (declaration.usage === undefined) checkNoWords(name, line.words)
      await run?.(line.words, line.flags)
    },
  }
}

/** Joins forms, such as `<list rules create rule <id>>`; in square brackets if optional. */
function formatForms(forms: readonly string[], isOptional: boolean): string {
  const nonEmpty = forms.filter((form) => form !== '')
  const all = nonEmpty.join(' | ')
  if (nonEmpty.length === 0) return ''
  if (isOptional || nonEmpty.length < forms.length) return `[${all}]`
  return nonEmpty.length > 1 ? `<${all}>` : all
}

/** First words in usages such as `[service plugin] <name>` and `client <service>...`. */
function findChoices(usage: string): readonly string[] {
  const choices = /^(?:[[<](?=[^\]>]* \| ))?([a-z]+(?: \| [a-z]+)*)[\]> ]/.exec(usage)?.[1]
  return choices?.split(' | ') ?? []
}
