/**
 * Rejects words of `vocabulary.json` in file names, exported names, comments, program texts and Markdown, and doubled
 * words in comments and Markdown. Code in Markdown and comments is skipped.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { ROOT } from './root.ts'

interface Vocabulary {
  /** Rejected words and phrases, separated by commas, with their replacements. */
  readonly words: Readonly<Record<string, string>>
  /** Words that are rejected at the start of a sentence; case-sensitive. */
  readonly openings: Readonly<Record<string, string>>
  /** Words that are rejected in names only. */
  readonly names: Readonly<Record<string, string>>
  /** Standard terms that contain a rejected word. */
  readonly exempt: readonly string[]
}

/** A rejected word or phrase. */
export interface Finding {
  readonly line: number
  readonly word: string
  /** Replacements. */
  readonly use: string
}

const vocabulary = JSON.parse(
  readFileSync(join(ROOT, 'scripts/vocabulary.json'), 'utf8'),
) as Vocabulary
/** Gap between the words of a phrase: a blank, or a line break in a comment. */
const GAP = '(?: |\\n[ *]*)'
const IN_PROSE = toPatterns(vocabulary.words)
const AT_START = toPatterns(vocabulary.openings)
const IN_NAMES = new Map([...IN_PROSE, ...toPatterns(vocabulary.names)])
const PROSE_WORD = toPattern(IN_PROSE.keys())
const NAME_WORD = toPattern(IN_NAMES.keys())
/** Matches capitalized words, except at the start of a quoted title. */
const OPENING_WORD = new RegExp(`(?<!["\\w])(?:${[...AT_START.keys()].join('|')})\\b`, 'g')
const DOUBLED_WORD = new RegExp(`\\b([a-z]+)${GAP}\\1\\b`, 'gi')
const EXPORT =
  /^export (?:declare |async |abstract )*(?:function\*?|const|let|class|interface|type) (\w+)/gm
const COMMENT = /\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/[^\n]*/g
/** Code blocks, inline code, names in doc comments, and addresses. */
const CODE =
  /^[ *]*```[\s\S]*?^[ *]*```|`(?:[^`\n]|\n(?! *\n))*`|@param \w+|\{@link [^}]*\}|\]\([^)]*\)|https?:\S+/gm
const EXEMPT = toPattern(vocabulary.exempt)

function toPatterns(entries: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(entries).flatMap(([words, use]) =>
      words.split(', ').map((word): [string, string] => [word, use]),
    ),
  )
}

function toPattern(words: Iterable<string>): RegExp {
  return new RegExp(`\\b(?:${[...words].join('|').replaceAll(' ', GAP)})\\b`, 'gi')
}

/** Replaces matches with dots, so that positions stay the same. */
function mask(text: string, pattern: RegExp): string {
  return text.replace(pattern, (match) => match.replace(/[^\n]/g, '.'))
}

/** Splits a name in camel case, kebab case or capitals into words. */
export function splitName(name: string): readonly string[] {
  return name.split(/[^A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).filter(Boolean)
}

function checkName(name: string, line: number): Finding[] {
  const words = splitName(name).join(' ').match(NAME_WORD) ?? []
  return words.map((word) => ({ line, word, use: IN_NAMES.get(word.toLowerCase())! }))
}

function checkWords(prose: string, firstLine: number): Finding[] {
  const text = mask(mask(prose, CODE), EXEMPT)
  return [...text.matchAll(PROSE_WORD)].map(({ 0: match, index }) => {
    const word = match.replace(/\s[\s*]*/, ' ')
    const line = firstLine + text.slice(0, index).split('\n').length - 1
    return { line, word, use: IN_PROSE.get(word.toLowerCase())! }
  })
}

function checkProse(prose: string, firstLine: number): Finding[] {
  const text = mask(mask(prose, CODE), EXEMPT)
  const lineAt = (index: number): number => firstLine + text.slice(0, index).split('\n').length - 1
  const openings = [...text.matchAll(OPENING_WORD)].map(({ 0: word, index }) => {
    return { line: lineAt(index), word, use: AT_START.get(word)! }
  })
  const doubled = [...text.matchAll(DOUBLED_WORD)].map(({ 1: word, index }) => {
    return { line: lineAt(index), word: `${word} ${word}`, use: word! }
  })
  return [...checkWords(prose, firstLine), ...openings, ...doubled]
}

/** A string in the program. */
interface Literal {
  readonly start: number
  /** True if the string is checked. In tests, only titles are checked, because other strings are data. */
  readonly isProse: boolean
  readonly text: string
}

const STRINGS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.StringLiteral,
  ts.SyntaxKind.NoSubstitutionTemplateLiteral,
  ts.SyntaxKind.TemplateHead,
  ts.SyntaxKind.TemplateMiddle,
  ts.SyntaxKind.TemplateTail,
  ts.SyntaxKind.JsxText,
])
/** Matches a sentence or a part of one, but not a key. */
const SENTENCE = /[a-z,] [a-z]/i
const SQL = /\b(?:SELECT|FROM|WHERE)\b/

function listLiterals(path: string, source: string): readonly Literal[] {
  const literals: Literal[] = []
  const titles = new Set<ts.Node>()
  const isTest = path.startsWith('test/')
  const visit = (node: ts.Node): void => {
    if (isTest && ts.isCallExpression(node) && /\.test$/.test(node.expression.getText(file)))
      titles.add(node.arguments[0]!)
    if (STRINGS.has(node.kind)) {
      const start = node.getStart(file)
      const isProse = !isTest || titles.has(node)
      // Excludes delimiters, because backticks enclose code in prose.
      const quote = node.kind === ts.SyntaxKind.JsxText ? 0 : 1
      const text = source.slice(start + quote, node.end - quote)
      literals.push({ start: start + quote, isProse, text })
    }
    ts.forEachChild(node, visit)
  }
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest)
  visit(file)
  return literals
}

/** Findings in one file: in its name, exported names, comments and texts, or in the complete text for Markdown. */
export function checkFile(path: string, text: string): readonly Finding[] {
  const lineAt = (index: number): number => text.slice(0, index).split('\n').length
  const ofFile = checkName(basename(path).replace(/\..*$/, ''), 1)
  if (path.endsWith('.md')) return [...ofFile, ...checkProse(text, 1)]
  const literals = listLiterals(path, text)
  let code = text
  // A string may contain the start of a comment.
  for (const { start, text: literal } of literals)
    if (literal.includes('/'))
      code = code.slice(0, start) + mask(literal, /./g) + code.slice(start + literal.length)
  return [
    ...ofFile,
    ...literals
      .filter(
        ({ text: literal, isProse }) => isProse && SENTENCE.test(literal) && !SQL.test(literal),
      )
      .flatMap(({ start, text: literal }) => checkWords(literal, lineAt(start))),
    ...[...text.matchAll(EXPORT)].flatMap(({ 1: name, index }) => checkName(name!, lineAt(index))),
    ...[...code.matchAll(COMMENT)].flatMap(({ 0: comment, index }) =>
      checkProse(comment, lineAt(index)),
    ),
  ]
}

/** Formats findings, such as `docs/a.md:3: "told": write report, log or send`. */
export function formatFindings(path: string, findings: readonly Finding[]): readonly string[] {
  return findings.map(
    ({ line, word, use }) => `${path}:${line}: ${JSON.stringify(word)}: write ${use}`,
  )
}

function listFindings(): readonly string[] {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return files
    .split('\n')
    .filter((path) => /\.(?:tsx?|md)$/.test(path))
    .filter((path) => !/^bench\/results\//.test(path))
    .flatMap((path) =>
      formatFindings(path, checkFile(path, readFileSync(join(ROOT, path), 'utf8'))),
    )
}

function main(): void {
  const findings = listFindings()
  for (const line of findings) console.error(line)
  if (findings.length > 0) process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
