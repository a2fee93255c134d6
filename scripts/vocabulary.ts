/**
 * Counts banned words (the table in CONTRIBUTING.md, *Words*) in file names, exported names and prose, for each top-level folder.
 * A count above the one in `vocabulary.json` fails; `--write` saves counts that have fallen.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from './root.ts'

const BASELINE = join(ROOT, 'scripts/vocabulary.json')
const BANNED =
  /^(?:told|tells?|teller|kept|keeper|held|holder|hears?|heard|hearer|news|asked|asks|question|questions|away|nobody|door|doors|picture|world|oddity|oddities|refuses?|refused|refusal|meant|obeys?|doomed|wish|wishes|whoever)$/i
/** Words that have other uses in prose. */
const BANNED_IN_NAMES =
  /^(?:own|given|taken|shown|foreign|trouble|gone|begun|wanted|turns?|whole|lost)$/i
const EXPORT =
  /^export (?:declare |async |abstract )*(?:function\*?|const|let|class|interface|type) (\w+)/gm
const PROSE = /\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/[^\n]*/g

export interface WordCounts {
  readonly fileNames: number
  readonly exports: number
  readonly prose: number
}

/** Words of a name in camel case, kebab case or capitals. */
export function splitName(name: string): readonly string[] {
  return name.split(/[^A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).filter(Boolean)
}

function countBanned(words: readonly string[]): number {
  return words.filter((word) => BANNED.test(word)).length
}

function countBannedNames(names: readonly string[]): number {
  return names.flatMap(splitName).filter((word) => BANNED.test(word) || BANNED_IN_NAMES.test(word))
    .length
}

/** Banned words of one file: in its name, its exported names, and its comments, or all of its text for Markdown. */
export function countWords(path: string, text: string): WordCounts {
  const isMarkdown = path.endsWith('.md')
  const prose = isMarkdown ? [text] : (text.match(PROSE) ?? [])
  const names = isMarkdown ? [] : [...text.matchAll(EXPORT)].map(([, name]) => name!)
  return {
    fileNames: countBannedNames([basename(path).replace(/\..*$/, '')]),
    exports: countBannedNames(names),
    prose: countBanned(prose.flatMap((comment) => comment.split(/[^A-Za-z]+/))),
  }
}

function countFolders(): Record<string, WordCounts> {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const folders: Record<string, WordCounts> = {}
  for (const path of files.split('\n').sort()) {
    if (!/\.(?:tsx?|md)$/.test(path) || /^(?:docs\/decisions|bench\/results)\//.test(path)) continue
    const folder = path.includes('/') ? path.split('/')[0]! : '.'
    const sum = folders[folder] ?? { fileNames: 0, exports: 0, prose: 0 }
    const { fileNames, exports, prose } = countWords(path, readFileSync(join(ROOT, path), 'utf8'))
    folders[folder] = {
      fileNames: sum.fileNames + fileNames,
      exports: sum.exports + exports,
      prose: sum.prose + prose,
    }
  }
  return folders
}

/** One line for each count that is above its baseline. */
export function findExcess(
  counts: Readonly<Record<string, WordCounts>>,
  baseline: Readonly<Record<string, WordCounts>>,
): readonly string[] {
  return Object.entries(counts).flatMap(([folder, now]) =>
    (['fileNames', 'exports', 'prose'] as const).flatMap((kind) => {
      const before = baseline[folder]?.[kind] ?? 0
      return now[kind] > before
        ? [`${folder}: ${now[kind]} banned words in ${kind}, ${before} before`]
        : []
    }),
  )
}

function main(): void {
  const counts = countFolders()
  if (process.argv.includes('--write')) {
    writeFileSync(BASELINE, `${JSON.stringify(counts, null, 2)}\n`)
    return
  }
  const baseline = JSON.parse(readFileSync(BASELINE, 'utf8')) as Record<string, WordCounts>
  const excess = findExcess(counts, baseline)
  for (const line of excess) console.error(line)
  if (excess.length === 0) return
  console.error(
    'Use the words of CONTRIBUTING.md, *Words*. `tsx scripts/vocabulary.ts --write` saves lower counts.',
  )
  process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
