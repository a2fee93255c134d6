// Entry point of a build process. It runs as the namespace's user, so the kernel checks its access to files and
// programs.
import { ServiceError } from '../../../sdk/errors.ts'
import { buildSource } from './build.ts'
import type { BuildResult } from './build-result.ts'
import { pruneCaches } from './cache.ts'
import type { BuildJob } from './sandboxed-build.ts'

const job = JSON.parse(process.argv[2]!) as BuildJob
if ('prune' in job) await pruneCaches(job.prune)
else process.stdout.write(JSON.stringify(await build(job)))

async function build({ input }: Extract<BuildJob, { input: unknown }>): Promise<BuildResult> {
  const onOutput = (text: string): void => void process.stderr.write(text)
  try {
    return { built: await buildSource(input, { onOutput, signal: new AbortController().signal }) }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { failure: { code: error.code, message: error.message } }
  }
}
