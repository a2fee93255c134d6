/**
 * Fails if two files export the same name. Independent parts, such as adapters and built-in services, never import each
 * other, so two of them may export the same name, but a part and a file that it may import may not.
 * `exported-names.json` lists the exceptions by reason. Unnecessary exceptions also fail.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from './root.ts'

/** Folders whose files may import each other, except {@link PART}. Other folders are separate programs. */
const FOLDERS =
  /^(?:lib|core|domain|plugins|resolvers|handlers|adapters|services|platform|sdk|cli)$/
const PART =
  /^(?:services\/[^/]+|adapters\/(?!nats\/|kubernetes\/)[^/]+\/[^/.]+|(?:plugins|resolvers|handlers)\/[^/.]+)/
const EXPORT =
  /^export (?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type) +([A-Za-z_]\w*)/gm

/** Finds names exported by two files of which one may import the other. Returns the files by name. */
export function findRepeatedNames(
  sources: ReadonlyMap<string, string>,
): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, Set<string>>()
  for (const [file, text] of sources)
    for (const [, name] of text.matchAll(EXPORT))
      files.set(name!, (files.get(name!) ?? new Set()).add(file))
  return new Map(
    [...files]
      .map(([name, set]) => [name, [...set]] as const)
      .filter(([, list]) => isRepeated(list)),
  )
}

function isRepeated(files: readonly string[]): boolean {
  const parts = files.map((file) => PART.exec(file)?.[0] ?? '')
  return parts.length > 1 && (parts.includes('') || new Set(parts).size < parts.length)
}

/** Lists differences between the repeated names and the exceptions, one per line. */
export function compareNames(
  repeated: ReadonlyMap<string, readonly string[]>,
  exceptions: readonly string[],
): readonly string[] {
  const unexpected = [...repeated].filter(([name]) => !exceptions.includes(name))
  return [
    ...unexpected.map(
      ([name, files]) => `${name} is exported by ${files.join(' and ')}: rename one`,
    ),
    ...exceptions
      .filter((name) => !repeated.has(name))
      .map((name) => `${name} is exported once: remove it from scripts/exported-names.json`),
  ]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = readdirSync(ROOT)
    .filter((folder) => FOLDERS.test(folder))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { encoding: 'utf8', recursive: true }).map(
        (file) => `${folder}/${file}`,
      ),
    )
    .filter((file) => file.endsWith('.ts') && !/[.](?:gen|d)[.]ts$/.test(file))
  const sources = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
  const list = readFileSync(join(ROOT, 'scripts/exported-names.json'), 'utf8')
  const exceptions = Object.values<readonly string[]>(JSON.parse(list)).flat()
  const problems = compareNames(findRepeatedNames(sources), exceptions)
  for (const problem of problems) console.log(problem)
  if (problems.length > 0) process.exitCode = 1
}
