import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A project template. */
export interface Template {
  /** Template name in `mx new <kind>`. */
  readonly kind: string
  /** Contents by path in the new folder. */
  readonly files: (name: string) => Readonly<Record<string, string>>
  /** Next commands to run in the folder, with their descriptions. */
  readonly next: (name: string) => readonly (readonly [line: string, what: string])[]
}

/** The npm package of this program. */
const PACKAGE_FILE = fileURLToPath(import.meta.resolve('mx-gateway/package.json'))

/**
 * Dependency of a project: the version range of this program, or the checkout it runs from, whose
 * version may be unpublished.
 */
export function toPackageRange(packageFile: string = PACKAGE_FILE): string {
  const folder = dirname(packageFile)
  // The published package contains no sources.
  if (existsSync(join(folder, 'sdk/index.ts'))) return `file:${folder}`
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
  return `^${version}`
}

/** Hint for a registry without the package; empty if the project depends on the checkout. */
export function formatPackageHint(packageFile: string = PACKAGE_FILE): string {
  if (toPackageRange(packageFile).startsWith('file:')) return ''
  return `If npm does not find mx-gateway: npm install --save-dev ${dirname(packageFile)}\n`
}

/**
 * Formats `package.json`. `mx-gateway` is a development dependency for editors, type checks and tests, because servers
 * and gateways provide their own.
 */
export function formatPackage(name: string, more: object = {}): string {
  const content = {
    ...{ name, version: '0.1.0', private: true, type: 'module' },
    ...more,
    devDependencies: {
      '@types/node': '^20.19.0',
      'mx-gateway': toPackageRange(),
      tsx: '^4.20.0',
      typescript: '^7.0.0',
    },
  }
  return `${JSON.stringify(content, undefined, 2)}\n`
}

export const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true,
    "types": ["node"]
  }
}
`

export const GITIGNORE = 'node_modules/\n'

/** Converts `mail-box` to `MailBox`. */
export function toPascalCase(name: string): string {
  return name.replaceAll(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Converts `mail-box` to `mailBox`. */
export function toCamelCase(name: string): string {
  return name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
