"""The AI-Feynman equations with at most five variables: 92 laws from Feynman's Lectures, in physical names
and with their ranges.

The list is that of Udrescu and Tegmark (2020); names, words and layout are ours. A line of the table reads

    lecture | what it says | formula | variable low high, variable low high, …

and its variables become x1, x2, … in the order of the last column. The list in common use breaks II.13.17,
where the current I was read as the imaginary unit; here it is a current.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from nsr.data.problems import Problem
from nsr.data.rescaling import Units
from nsr.formulas.expressions import CONSTANT, Prefix, Valued
from nsr.formulas.parsing import parse
from nsr.numbers.fitting import fit_constants
from nsr.numbers.simplification import is_strained, simplify

MAX_VARIABLES = 5
N_EQUATIONS = 92
# A formula of the right form leaves at most so much of the variance, by rounding; its constants are not larger.
EXACT, LARGEST = 1e-10, 1e3

_TABLE = """
I.6.20a   | normal distribution, standard | exp(-theta**2/2)/sqrt(2*pi) | theta 1 3
I.6.20    | normal distribution, centred | exp(-(theta/sigma)**2/2)/(sqrt(2*pi)*sigma) | sigma 1 3, theta 1 3
I.6.20b   | normal distribution | exp(-((theta - mu)/sigma)**2/2)/(sqrt(2*pi)*sigma) | sigma 1 3, theta 1 3, mu 1 3
I.8.14    | distance in the plane | sqrt((x_b - x_a)**2 + (y_b - y_a)**2) | x_a 1 5, x_b 1 5, y_a 1 5, y_b 1 5
I.10.7    | relativistic mass | m0/sqrt(1 - v**2/c**2) | m0 1 5, v 1 2, c 3 10
I.12.1    | friction | mu*N | mu 1 5, N 1 5
I.12.2    | Coulomb force | q1*q2/(4*pi*eps*r**2) | q1 1 5, q2 1 5, eps 1 5, r 1 5
I.12.4    | field of a charge | q/(4*pi*eps*r**2) | q 1 5, eps 1 5, r 1 5
I.12.5    | force of a field | q*E | q 1 5, E 1 5
I.12.11   | Lorentz force | q*(E + B*v*sin(theta)) | q 1 5, E 1 5, B 1 5, v 1 5, theta 1 5
I.13.4    | kinetic energy | m*(v**2 + u**2 + w**2)/2 | m 1 5, v 1 5, u 1 5, w 1 5
I.13.12   | work against gravity | G*m1*m2*(1/r2 - 1/r1) | m1 1 5, m2 1 5, r1 1 5, r2 1 5, G 1 5
I.14.3    | potential energy | m*g*z | m 1 5, g 1 5, z 1 5
I.14.4    | energy of a spring | k*x**2/2 | k 1 5, x 1 5
I.15.3x   | Lorentz transformation of place | (x - u*t)/sqrt(1 - u**2/c**2) | x 5 10, u 1 2, c 3 20, t 1 2
I.15.3t   | Lorentz transformation of time | (t - u*x/c**2)/sqrt(1 - u**2/c**2) | x 1 5, c 3 10, u 1 2, t 1 5
I.15.10   | relativistic momentum | m0*v/sqrt(1 - v**2/c**2) | m0 1 5, v 1 2, c 3 10
I.16.6    | relativistic sum of velocities | (u + v)/(1 + u*v/c**2) | c 1 5, v 1 5, u 1 5
I.18.4    | centre of mass | (m1*r1 + m2*r2)/(m1 + m2) | m1 1 5, m2 1 5, r1 1 5, r2 1 5
I.18.12   | torque | r*F*sin(theta) | r 1 5, F 1 5, theta 0 5
I.18.14   | angular momentum | m*r*v*sin(theta) | m 1 5, r 1 5, v 1 5, theta 1 5
I.24.6    | energy of a driven oscillator | m*(omega**2 + omega0**2)*x**2/4 | m 1 3, omega 1 3, omega0 1 3, x 1 3
I.25.13   | voltage of a capacitor | q/C | q 1 5, C 1 5
I.26.2    | Snell's law | asin(n*sin(theta)) | n 0 1, theta 1 5
I.27.6    | focal length | 1/(1/d1 + n/d2) | d1 1 5, d2 1 5, n 1 5
I.29.4    | wave number | omega/c | omega 1 10, c 1 10
I.29.16   | sum of two waves | sqrt(a**2 + b**2 - 2*a*b*cos(theta1 - theta2)) | a 1 5, b 1 5, theta1 1 5, theta2 1 5
I.30.3    | diffraction grating | I0*sin(n*theta/2)**2/sin(theta/2)**2 | I0 1 5, theta 1 5, n 1 5
I.30.5    | angle of diffraction | asin(lam/(n*d)) | lam 1 2, d 2 5, n 1 5
I.32.5    | power radiated by a charge | q**2*a**2/(6*pi*eps*c**3) | q 1 5, a 1 5, eps 1 5, c 1 5
I.34.8    | cyclotron frequency | q*v*B/p | q 1 5, v 1 5, B 1 5, p 1 5
I.34.10   | Doppler effect | omega0/(1 - v/c) | c 3 10, v 1 2, omega0 1 5
I.34.14   | Doppler effect, relativistic | (1 + v/c)/sqrt(1 - v**2/c**2)*omega0 | c 3 10, v 1 2, omega0 1 5
I.34.27   | energy of a photon | h*omega/(2*pi) | omega 1 5, h 1 5
I.37.4    | interference | I1 + I2 + 2*sqrt(I1*I2)*cos(delta) | I1 1 5, I2 1 5, delta 1 5
I.38.12   | Bohr radius | 4*pi*eps*(h/(2*pi))**2/(m*q**2) | m 1 5, q 1 5, h 1 5, eps 1 5
I.39.10   | energy of a monatomic gas | 3*p*V/2 | p 1 5, V 1 5
I.39.11   | energy of a gas | p*V/(gamma - 1) | gamma 2 5, p 1 5, V 1 5
I.39.22   | ideal gas | n*k*T/V | n 1 5, T 1 5, V 1 5, k 1 5
I.41.16   | Planck's law | h*omega**3/(2*pi**3*c**2*(exp(h*omega/(2*pi*k*T)) - 1)) | omega 1 5, T 1 5, h 1 5, k 1 5, c 1 5
I.43.16   | drift velocity | mu*q*V/d | mu 1 5, q 1 5, V 1 5, d 1 5
I.43.31   | Einstein's diffusion | mu*k*T | mu 1 5, T 1 5, k 1 5
I.43.43   | heat conduction of a gas | k*v/((gamma - 1)*A) | gamma 2 5, k 1 5, A 1 5, v 1 5
I.44.4    | isothermal work | n*k*T*log(V2/V1) | n 1 5, k 1 5, T 1 5, V1 1 5, V2 1 5
I.47.23   | speed of sound | sqrt(gamma*p/rho) | gamma 1 5, p 1 5, rho 1 5
I.48.20   | relativistic energy | m*c**2/sqrt(1 - v**2/c**2) | m 1 5, v 1 2, c 3 10
I.50.26   | nonlinear response | x*(cos(omega*t) + alpha*cos(omega*t)**2) | x 1 3, omega 1 3, t 1 3, alpha 1 3
II.2.42   | heat flow | kappa*(T2 - T1)*A/d | kappa 1 5, T1 1 5, T2 1 5, A 1 5, d 1 5
II.3.24   | flux of a source | P/(4*pi*r**2) | P 1 5, r 1 5
II.4.23   | potential of a charge | q/(4*pi*eps*r) | q 1 5, eps 1 5, r 1 5
II.6.11   | potential of a dipole | p*cos(theta)/(4*pi*eps*r**2) | eps 1 3, p 1 3, theta 1 3, r 1 3
II.6.15b  | field of a dipole | 3*p*cos(theta)*sin(theta)/(4*pi*eps*r**3) | eps 1 3, p 1 3, theta 1 3, r 1 3
II.8.7    | energy of a charged sphere | 3*q**2/(20*pi*eps*d) | q 1 5, eps 1 5, d 1 5
II.8.31   | energy density of a field | eps*E**2/2 | eps 1 5, E 1 5
II.10.9   | field in a dielectric | sigma/(eps*(1 + chi)) | sigma 1 5, eps 1 5, chi 1 5
II.11.3   | driven electron | q*E/(m*(omega0**2 - omega**2)) | q 1 3, E 1 3, m 1 3, omega0 3 5, omega 1 2
II.11.20  | polarisation of a gas | n*p**2*E/(3*k*T) | n 1 5, p 1 5, E 1 5, k 1 5, T 1 5
II.11.27  | Clausius and Mossotti, polarisation | n*alpha/(1 - n*alpha/3)*eps*E | n 0 1, alpha 0 1, eps 1 2, E 1 2
II.11.28  | Clausius and Mossotti, permittivity | 1 + n*alpha/(1 - n*alpha/3) | n 0 1, alpha 0 1
II.13.17  | magnetic field of a wire | 2*I/(4*pi*eps*c**2*r) | eps 1 5, c 1 5, I 1 5, r 1 5
II.13.23  | relativistic charge density | rho0/sqrt(1 - v**2/c**2) | rho0 1 5, v 1 2, c 3 10
II.13.34  | relativistic current density | rho0*v/sqrt(1 - v**2/c**2) | rho0 1 5, v 1 2, c 3 10
II.15.4   | magnet in a field | -mu*B*cos(theta) | mu 1 5, B 1 5, theta 1 5
II.15.5   | dipole in a field | -p*E*cos(theta) | p 1 5, E 1 5, theta 1 5
II.21.32  | potential of a moving charge | q/(4*pi*eps*r*(1 - v/c)) | q 1 5, eps 1 5, r 1 5, v 1 2, c 3 10
II.24.17  | wave guide | sqrt(omega**2/c**2 - pi**2/d**2) | omega 4 6, c 1 2, d 2 4
II.27.16  | energy flow of a wave | eps*c*E**2 | eps 1 5, c 1 5, E 1 5
II.27.18  | energy density of a wave | eps*E**2 | eps 1 5, E 1 5
II.34.2a  | current of an orbit | q*v/(2*pi*r) | q 1 5, v 1 5, r 1 5
II.34.2   | magnetic moment of an orbit | q*v*r/2 | q 1 5, v 1 5, r 1 5
II.34.11  | Larmor frequency | g*q*B/(2*m) | g 1 5, q 1 5, B 1 5, m 1 5
II.34.29a | Bohr magneton | q*h/(4*pi*m) | q 1 5, h 1 5, m 1 5
II.34.29b | Zeeman energy | 2*pi*g*mu*B*J/h | g 1 5, h 1 5, J 1 5, mu 1 5, B 1 5
II.35.18  | atoms in a field | n0/(exp(mu*B/(k*T)) + exp(-mu*B/(k*T))) | n0 1 3, k 1 3, T 1 3, mu 1 3, B 1 3
II.35.21  | magnetisation | n*mu*tanh(mu*B/(k*T)) | n 1 5, mu 1 5, B 1 5, k 1 5, T 1 5
II.37.1   | energy of a magnetised body | mu*(1 + chi)*B | mu 1 5, B 1 5, chi 1 5
II.38.3   | Hooke's law | Y*A*x/d | Y 1 5, A 1 5, d 1 5, x 1 5
II.38.14  | shear modulus | Y/(2*(1 + sigma)) | Y 1 5, sigma 1 5
III.4.32  | photons in a mode | 1/(exp(h*omega/(2*pi*k*T)) - 1) | h 1 5, omega 1 5, k 1 5, T 1 5
III.4.33  | energy of a mode | h*omega/(2*pi*(exp(h*omega/(2*pi*k*T)) - 1)) | h 1 5, omega 1 5, k 1 5, T 1 5
III.7.38  | precession of a spin | 4*pi*mu*B/h | mu 1 5, B 1 5, h 1 5
III.8.54  | two-state system | sin(2*pi*A*t/h)**2 | A 1 2, t 1 2, h 1 4
III.10.19 | spin in a field | mu*sqrt(Bx**2 + By**2 + Bz**2) | mu 1 5, Bx 1 5, By 1 5, Bz 1 5
III.12.43 | quantised angular momentum | n*h/(2*pi) | n 1 5, h 1 5
III.13.18 | velocity in a crystal | 4*pi*A*d**2*k/h | A 1 5, d 1 5, k 1 5, h 1 5
III.14.14 | diode | I0*(exp(q*V/(k*T)) - 1) | I0 1 5, q 1 2, V 1 2, k 1 2, T 1 2
III.15.12 | energy in a crystal | 2*U*(1 - cos(k*d)) | U 1 5, k 1 5, d 1 5
III.15.14 | effective mass | (h/(2*pi))**2/(2*A*d**2) | h 1 5, A 1 5, d 1 5
III.15.27 | wave number in a ring | 2*pi*s/(n*d) | s 1 5, n 1 5, d 1 5
III.17.37 | angular distribution | beta*(1 + alpha*cos(theta)) | beta 1 5, alpha 1 5, theta 1 5
III.19.51 | levels of hydrogen | -m*q**4/(2*(4*pi*eps)**2*(h/(2*pi))**2*n**2) | m 1 5, q 1 5, h 1 5, n 1 5, eps 1 5
III.21.20 | current of a superconductor | -rho*q*A/m | rho 1 5, q 1 5, A 1 5, m 1 5
"""


@dataclass(frozen=True)
class Equation:
    """One law: where it stands in the lectures, in words and as a formula, its variables in order and their
    ranges."""

    lecture: str
    law: str
    formula: str  # in physical names
    names: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]

    @cached_property
    def parsed(self) -> Valued:
        """Prefix tuple over x1, x2, … and its constants.

        >>> next(e for e in equations() if e.lecture == "I.39.10").parsed
        (('div', 'mul', 'C', 'mul', 'x1', 'x2', 'C'), (3.0, 2.0))
        """
        number = {name: f"x{i}" for i, name in enumerate(self.names, start=1)}
        formula = without_tanh(self.formula)
        return parse(re.sub(r"[A-Za-z]\w*", lambda word: number.get(word[0], word[0]), formula))

    def problem(
        self, rng: np.random.Generator, n_points: int = 100, n_fresh: int = 100, noise: float = 0.0
    ) -> Problem:
        """Points of the law, uniform in its ranges; `noise` is a share of y's standard deviation, on the
        given points only."""
        prefix, constants = self.parsed
        return Problem.from_expression(
            prefix,
            constants,
            rng=rng,
            n_points=n_points,
            n_fresh=n_fresh,
            support=self.ranges,
            n_variables=len(self.names),
            noise=noise,
            name=f"feynman-{self.lecture}",
        )

    def has_form(
        self,
        prefix: Prefix,
        constants: tuple[float, ...] = (),
        units: Units | None = None,
        n_points: int = 500,
    ) -> bool:
        """Whether the law is this expression with some constants: fitted to its clean values, nothing is
        left, and none is enormous or tiny but a summand before the whole, which some programs always write.

        `constants` are where to start from, and those that meet are one; `units` are those of the expression,
        if not the law's own.

        >>> lens = next(e for e in equations() if e.lecture == "I.27.6")  # 1 / (1/d1 + n/d2)
        >>> lens.has_form(parse("x1*x2/(x2 + x1*x3)")[0]), lens.has_form(parse("x1*x2/(x2 + x3)")[0])
        (True, False)
        """
        problem = self.problem(np.random.default_rng(len(self.lecture)), n_points, 2)
        problem = units.problem(problem) if units else problem
        prefix, constants = simplify(prefix, constants) if constants else (prefix, ())
        fit = fit_constants(prefix, problem.X, problem.y, initial=constants or None)
        apart = fit.constants[prefix[:2] == ("add", CONSTANT) :]
        return 1.0 - fit.r2 <= EXACT and not is_strained(apart, LARGEST)


@cache
def equations() -> tuple[Equation, ...]:
    """The 92 equations, in the order of the lectures.

    >>> len(equations()), equations()[4].formula
    (92, 'm0/sqrt(1 - v**2/c**2)')
    """
    rows = [[cell.strip() for cell in line.split("|")] for line in _TABLE.strip().splitlines()]
    return tuple(
        Equation(lecture, law, formula, *_variables(ranges)) for lecture, law, formula, ranges in rows
    )


def _variables(text: str) -> tuple[tuple[str, ...], tuple[tuple[float, float], ...]]:
    """Names and ranges of 'm0 1 5, v 1 2'."""
    words = [part.split() for part in text.split(",")]
    return tuple(w[0] for w in words), tuple((float(w[1]), float(w[2])) for w in words)


def without_tanh(formula: str) -> str:
    """tanh u = 1 − 2/(exp 2u + 1): no vocabulary has a token for it.

    >>> without_tanh("a*tanh(b/(c*d))")
    'a*(1 - 2/(exp(2*(b/(c*d))) + 1))'
    """
    before, found, rest = formula.partition("tanh(")
    if not found:
        return formula
    depth, end = 1, 0
    while depth := depth + {"(": 1, ")": -1}.get(rest[end], 0):
        end += 1
    return f"{before}(1 - 2/(exp(2*({rest[:end]})) + 1)){rest[end + 1 :]}"
