import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '../../cli/commands.gen.ts'
import { listSettings } from '../../platform/settings/command.ts'
import { ROOT } from '../../scripts/root.ts'
import { listGuides } from '../fixtures/guides.ts'

/** Flags before a command, and of every command. */
const GLOBAL = ['--env', '--target', '--namespace', '--output', '--help']
/** A command line in a block or in a sentence, up to a comment, a pipe or the next command. */
const LINE = /(?:^|[`$] ?|[A-Z_]+=\S+ |npx )mx (?<name>[a-z]+)(?<rest>(?:\\\n|[^`#|;&\n])*)/gm
const QUOTED = /"[^"]*"|'[^']*'/g

t.test('every flag of a command in README and docs exists', async (t) => {
  const flagsByCommand = new Map<string, readonly string[]>()
  for (const { name, load } of COMMANDS) {
    const { flags, forms, settings, sharesServiceName } = await load()
    // Other words are endpoints of the service, with flags of their own.
    if (sharesServiceName) continue
    const names = [...Object.keys(flags), ...forms].join().match(/--?\w+/g) ?? []
    const ofSettings = settings === undefined ? [] : listSettings(settings)
    flagsByCommand.set(name, [
      ...GLOBAL,
      ...names,
      ...ofSettings.map((setting) => `--${setting.name}`),
    ])
  }
  const unknown = listGuides().flatMap((guide) =>
    [...readFileSync(join(ROOT, guide), 'utf8').matchAll(LINE)].flatMap(({ groups }) => {
      const { name = '', rest = '' } = groups!
      const knownFlags = flagsByCommand.get(name)
      // An environment has no `=` in its name: variables are `-e`.
      if (/--env[ =][A-Z_]+=/.test(rest)) return [`${guide}: mx ${name} --env`]
      const usedFlags = rest.replaceAll(QUOTED, '').match(/(?<=\s)--?[A-Za-z]\w*/g) ?? []
      return usedFlags
        .filter((flag) => knownFlags?.includes(flag) === false)
        .map((flag) => `${guide}: mx ${name} ${flag}`)
    }),
  )
  t.same(unknown, [])
})
