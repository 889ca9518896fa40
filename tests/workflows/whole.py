"""One file with every kind of step, every modifier and every key of the language, without a fault."""

from __future__ import annotations

FILES = {
    ".github/bot/prompts/coder.md": "You are ${{ agent.name }}. The goal: ${{ run.goal }}.\n",
    ".github/bot/schemas/outcome.json": (
        '{"schemaVersion": 1, "fields": [{"name": "pr_url", "type": "string", "required": true}]}'
    ),
    ".github/bot/workflows/measure.yml": """\
name: measure
description: Says how large a change is.
inputs:
  area: {type: enum, options: [api, web]}
  depth: {type: number, min: 1, max: 5, default: 2}
  key: {type: secret, required: false}
export: {from: [guess, log]}
steps:
  - id: guess
    agent: reader
    prompt: "How large is ${{ inputs.area }} at depth ${{ inputs.depth }}?"
    result: {fields: {days: {type: number, required: true}}}
    produces: [{id: log, kind: log}]
""",
}

BOT = """\
version: 1
mention: ["@helper"]
default: reader
resources:
  warehouse:
    description: What is in stock.
    url: https://mcp.example.org/warehouse
    headers: {Authorization: "Bearer ${{ secrets.WAREHOUSE }}"}
    public: {region: north}
  chat: {webhook: https://hooks.example.org/chat}
agents:
  reader:
    description: Reads.
    model: demo:helper
    prompt: You answer briefly.
    tools: [read_file, {name: run_command, budget: 3, approval: true}]
  planner: {model: demo:helper, prompt: You plan.}
  coder: {model: demo:helper, prompt: prompts/coder.md}
  lint: {runner: {exec: [./lint]}}
workflows:
  implement:
    description: Everything at once.
    goal: Resolve the issue.
    params: {base: main}
    inputs:
      area: {type: enum, options: [api, web], default: api}
      spec: {type: file, required: false, accept: [.md]}
      token: {type: secret, required: false}
    defaults: {fidelity: "summary:medium", timeout: 10m, by: planner, injection_cap: 9000, budget: {usd: 1}}
    budget: {usd: 5, tokens: 400000, minutes: 60}
    export: {schema: schemas/outcome.json, from: [open_pr]}
    steps:
      - id: plan
        agent: planner
        when: "inputs.area == 'api' || params.base != 'main'"
        prompt: |
          Plan #${{ issue.number }} for ${{ inputs.area }}: ${{ trigger.text ?? "resolve the issue" }}
          ${{ inputs.spec.original_filename ?? "no spec" }} ${{ ctx.review ?? "" }}
        inputs:
          failing: {exec: "pytest -q -x || true", timeout: 5m, required: false, env: {AREA: "${{ inputs.area }}"}}
          labels: {value: "${{ issue.labels }}", type: array}
          plain: ["${{ params.base }}", 2]
          readme: {file: README.md}
          changes: {diff: true}
          logs: {checks: failed_logs}
          threads: {review_threads: unresolved}
          linked: {linked: issues}
          more: {thread: {comments: 20}}
        tools: [{name: search_files, budget: 9, bound_args: {path: inputs.area}}, {name: stock, from: warehouse}]
        fidelity: compact
        injection_cap: 500
        result:
          fields:
            risk: {type: enum, options: [low, high], required: true}
            parts: {type: array, items: {type: string}, required: true}
          on_mismatch: retry
        rework: {to: plan, max_loops: 2, comments_as: plan_errors}
        writes: [notes]
        reads: [plan_errors]
        produces: [{id: plan_document, kind: plan}]
        decide: result.risk
        transitions: {low: size, high: approve}
        retry: {max: 3, base: 1s, cap: 30s}
        timeout: 20m
        budget: {usd: 0.5}
        publish: false
        format: markdown
        workspace: read
        on_interrupt: fail
      - id: approve
        ask: Build this plan?
        show: "${{ steps.plan.output }} ${{ artifacts.plan_document.kind }}"
        options: {approve: size, revise: {rework: plan}, stop: stopped}
        rework: {to: plan, max_loops: 3, comments_as: review}
        who: {role: maintain, logins: [ana], not_requester: true, dashboard: true}
        timeout: 3d
        on_timeout: stop
      - id: size
        uses: measure
        inputs: {area: "${{ inputs.area }}", depth: 3, key: "${{ inputs.token }}"}
      - id: form
        ask: What is left?
        questions:
          - {id: deadline, question: "By when, ${{ trigger.actor }}?", type: text}
          - {id: urgent, question: Is it urgent?, type: bool, required: false}
        writes: [deadline]
        next: [{when: "steps.form.result.urgent == true", to: views}, {to: sort}]
      - id: sort
        classify: {text: "${{ issue.body }}", labels: {bug: broken, idea: new}, by: reader}
        context: [plan, plan.result.parts, ctx.notes, size.result.guess]
        decide: preferred_label
        transitions: {bug: views, idea: stopped}
      - id: views
        parallel:
          branches:
            speed:
              - {id: fast, agent: reader, prompt: "Is it slow? ${{ ctx.notes }}", writes: [verdict]}
            safety:
              - id: safe
                run: make audit
                result: {fields: {score: {type: number, required: true}}}
              - {id: told, code: "return {'score': score}", inputs: {score: "${{ steps.safe.result.score }}"}}
          on_error: collect
        publish: true
      - id: weigh
        switch:
          - {when: "steps.views.result.safety.score > 0.5 && steps.views.result.speed.verdict == 'no'", to: parts}
          - {to: end}
      - id: parts
        each: {over: "${{ steps.plan.result.parts }}", as: part, key: name, concurrency: 2, on_error: collect}
        steps:
          - id: look
            agent: reader
            tools: [{name: run_command, budget: 2}]
            prompt: "Look at ${{ part }} ${{ item }} after ${{ steps.views.output }}."
            when: "part != '' && item != 'x'"
          - id: note
            run: make note
            shell: bash
            env: {PART: "${{ part }}", TOKEN: "${{ secrets.NOTES }}", SPEC: "${{ inputs.token ?? '' }}"}
            next: end
      - id: mend
        loop: {max: 3, until: "steps.test.outcome == 'success' && ctx.last == 'ok'", on_exhaust: last}
        steps:
          - {id: change, agent: coder, context: [parts, ctx.last_response], prompt: "Mend. ${{ ctx.last ?? '' }}"}
          - {id: test, run: "make test BASE=1 ${{ params.base }}", writes: [last]}
      - id: stock
        connector: {resource: warehouse, tool: stock}
        inputs: {item: "${{ steps.plan.result.risk }}", deep: {limit: 3}}
        each: {over: [1, 2]}
      - id: wait_for_checks
        wait: {event: checks_completed}
        timeout: 2h
      - {id: remarks, ask: Anything else?, text: true}
      - id: pause
        wait: {for: 1m}
      - id: count
        code: |
          found = [one for one in parts if one]
          return {"count": len(found)}
        inputs: {parts: "${{ steps.plan.result.parts }}"}
        env: {REGION: "${{ resources.warehouse.region }}"}
        result: {fields: {count: {type: number, required: true}}}
        decide: {verdict: result.count, cases: [{when: "value > 0", to: open_pr}, {to: stopped}]}
      - id: open_pr
        pull_request: {title: "${{ issue.title }}", body: "By ${{ run.url }}", draft: true, base: main}
      - id: check
        review: {findings: "${{ steps.views.result.speed.findings }}", body: See below., verdict: comment}
        next: [{when: "outcome == 'fail'", to: check}, {to: tell}]
        loop: {max: 2}
      - id: tell
        notify:
          comment: "${{ steps.open_pr.pr_url }} on ${{ steps.open_pr.branch }}"
          labels: {add: [done], remove: "${{ issue.labels }}"}
          assign: [ana]
          close: completed
          webhook: {resource: chat, body: {text: ["${{ steps.tell_nobody.summary ?? 'none' }}"]}}
        next: [{when: "outcome == 'fail'", to: tell_nobody}, {to: end}]
      - id: tell_nobody
        agent: lint
        next: tell
        loop: {max: 1, on_exhaust: stopped}
      - id: stopped
        end: {outcome: fail, message: "Stopped: ${{ ctx.notes }} ${{ resources.chat.webhook }}"}
"""
