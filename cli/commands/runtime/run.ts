import { GatewayError } from '../../../core/errors.ts'
import { isReservedName } from '../../../core/registry/built-in-services.ts'
import { type Command, defineCommand } from '../../command.ts'
import { deploy } from '../../runtime/deploy.ts'
import { listObjects, neverStarted } from '../../runtime/objects.ts'
import { RUN_FLAGS } from '../../runtime/run-flags.ts'
import { checkName, LATEST, parseSource, toName } from '../../runtime/source.ts'
import { openSession, type Session, sessionFlags } from '../../session/session.ts'
import { readBaseUrl } from '../../state/base-url.ts'
import { OUTPUT_FLAGS } from '../../ui/format.ts'
import { CliError, EXIT, usageError } from '../../ui/output.ts'

const command: Command = defineCommand({
  name: 'run',
  description: 'Run a service from a folder or a repository',
  usage: '<folder, file, address or name>[@<branch or commit>]',
  flags: {
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the service'),
    ...RUN_FLAGS,
    '--force': 'Replace a running service of the same name',
  },
  examples: [
    'mx run ./helloworld',
    'mx run github.com/<owner>/helloworld@main --name=hello --instances=2',
  ],
  async run(words, flags) {
    const { image, force = false } = flags
    const sources = [...words, ...[flags.source, image].filter((each) => each !== undefined)]
    if (sources.length !== 1 || sources[0] === '')
      throw usage(sources.filter((each) => each !== ''))
    const typed = sources[0]!
    const session = openSession(flags)
    try {
      const source =
        image === undefined ? parseSource(typed, readBaseUrl(session.environment)) : undefined
      const name = checkName(flags.name ?? source?.name ?? toImageName(typed))
      if (isReservedName(name)) throw reservedName(name)
      const version = source?.ref ?? LATEST
      if (!force) await mustBeNew(session, name, version)
      await deploy(session, {
        ...{ endpoint: 'Runtime.Create', name, version, source, typed, flags, force },
      }).catch((error: Error) => {
        // A concurrent command may have created the object.
        const exists = error.cause instanceof GatewayError && /^already exists/.test(error.message)
        throw exists ? alreadyExists(name, version, error.cause) : error
      })
    } finally {
      session.close()
    }
  },
})

export default command

/** Runs before the upload. @throws {CliError} */
async function mustBeNew(session: Session, name: string, version: string): Promise<void> {
  const objects = await listObjects(session, name)
  const existing = objects.find((object) => object.version === version)
  if (existing === undefined || neverStarted(existing)) return
  throw alreadyExists(name, version)
}

function alreadyExists(name: string, version: string, cause?: unknown): CliError {
  const message = `already exists: ${name}@${version}. Deploy new code with 'mx update ${name}', choose another name with --name, or replace it with --force`
  return new CliError(message, { cause, status: EXIT.serviceError })
}

function reservedName(name: string): CliError {
  return new CliError(
    `${name} is the name of a platform service: choose another name with --name`,
    { status: EXIT.serviceError },
  )
}

/** Name of an image: `nginx` for `docker.io/library/nginx:1.27@sha256:...`. */
function toImageName(image: string): string {
  return toName(image.replace(/@.*$/, '')).replace(/:.*$/, '')
}

function usage(sources: readonly string[]): CliError {
  const problem =
    sources.length === 0
      ? 'a source is missing: a folder, the address of a repository, or its name'
      : `expected one source, got ${sources.join(', ')}`
  return usageError('run', problem)
}
