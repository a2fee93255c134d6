/** Settles as `answer` does, or rejects when that takes longer than `timeoutMs`. */
export function withTimeout<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    timer.unref()
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
