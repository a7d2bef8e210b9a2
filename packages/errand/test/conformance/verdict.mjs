/** What the checks of one scenario say. `wrong` is why it is not green; empty where it is. */
export function judge(scenario, checks = []) {
  const of = (status) => checks.filter((check) => check.status === status);
  const passed = of('SUCCESS').length;
  // No baseline, and nothing forgiven: a warning is a SHOULD that we break, a skipped check one that nobody made.
  const wrong = ['FAILURE', 'WARNING', 'SKIPPED'].flatMap((status) =>
    of(status).map((check) => `${status} ${check.id}: ${check.errorMessage ?? check.description}`),
  );
  if (passed === 0) wrong.unshift('nothing was tested');
  return { scenario, passed, wrong };
}

/** What a run of one scenario says: the checks, and that the run itself came to its end. */
export function judgeRun(scenario, run) {
  const verdict = judge(scenario, run.scenarios.get(scenario));
  if (!/^Passed: \d+\/\d+/m.test(run.text)) verdict.wrong.unshift('the run printed no result', lastLines(run.text));
  if (run.code !== 0) verdict.wrong.unshift(`the suite ended with ${run.code}`);
  return verdict;
}

/** What a run of all that a revision requires says, one verdict a required scenario. */
export function judgeRequirements(required, run) {
  const verdicts = required.map((scenario) => judge(scenario, run.scenarios.get(scenario)));
  const wrong = [];
  if (required.length === 0) wrong.push('the suite lists no required scenario');
  if (!run.text.includes('=== SUMMARY ===')) wrong.push('the run printed no summary', lastLines(run.text));
  if (run.code !== 0) wrong.push(`the suite ended with ${run.code}`);
  return wrong.length === 0 ? verdicts : [...verdicts, { scenario: '(the run itself)', passed: 0, wrong }];
}

function lastLines(text) {
  return text.trim().split('\n').slice(-5).join('\n');
}
